//! Groups on real sockets: a member publishes and subscribes, and repairs for others.
//!
//! - [`Group`]: a member that runs; `builder`: how it is made
//! - [`body`]: what a message holds; [`event`]: what a member tells; [`inbox`]: messages as files
//! - [`MessageSender`] (`intake`): many messages, fast; [`MessageBatch`] (`batch`): as they come;
//!   `publishing`: into the session; `flow`: no faster than subscribers follow
//! - `command`: what it is asked; `error`: why it cannot be done
//! - `engine`: its node in the driver's hands; `store`: the bytes there; `checker`: are they right?
//! - `handover`: what subscriptions are still to be given; `giving`: with its bytes; `gate`: how much of
//!   it at once
//! - [`Monitored`]: what its monitor knows
//! - `fates`: what has become of own messages; [`tally`]: the sum of it; `refusals`: of others' that are too long
//! - `sieve`: what the policy lets in
//! - `keeper`: messages that outlive the process; `revival`: putting them back

mod batch;
pub mod body;
mod builder;
mod checker;
mod command;
mod engine;
mod error;
pub mod event;
mod fates;
mod flow;
mod gate;
mod giving;
mod handover;
pub mod inbox;
mod intake;
mod keeper;
mod monitored;
mod publishing;
mod refusals;
mod revival;
mod sieve;
mod store;
pub mod tally;

pub use error::GroupError;
use std::{
    net::SocketAddr,
    ops::Deref,
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

pub use batch::{GroupEvents, MessageBatch};
pub use body::{Body, BodyError};
pub use builder::GroupOptions;
pub use event::{Gap, GroupEvent, GroupReport, GroupStatus, Losses, Message};
use fanfare_messaging::{Options, Subscription, SubscriptionId, Topic};
use fanfare_proto::{NodeId, ObjectKey};
use fanfare_udp::Interface;
pub use fates::{Fate, Watch};
pub use gate::Gate;
pub use inbox::Inbox;
pub use intake::MessageSender;
pub use keeper::{CacheError, Damage};
pub use monitored::{Monitored, MonitoredNode};
pub use refusals::TooLong;

use crate::stopper::Stopper;
use command::Command;
use command::Publication;
use intake::Intake;
use keeper::Files;

/// A member of a group, running. Dropping it stops it.
#[derive(Debug)]
pub struct Group {
    handle: GroupHandle,
    interface: Option<Interface>,
    awaited: Option<String>,
    events: Option<GroupEvents>,
    thread: Option<JoinHandle<GroupReport>>,
}

/// What may be asked of a member from any thread.
#[derive(Debug, Clone)]
pub struct GroupHandle {
    id: NodeId,
    address: SocketAddr,
    message_max: u64,
    files: Option<Arc<Files>>,
    stopper: Stopper,
    commands: SyncSender<Command>,
    intake: Intake,
}

impl Deref for Group {
    type Target = GroupHandle;

    fn deref(&self) -> &GroupHandle {
        &self.handle
    }
}

impl GroupHandle {
    /// Its id in the group.
    #[must_use]
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The group's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Bytes that a message may have here.
    #[must_use]
    pub fn message_max(&self) -> u64 {
        self.message_max
    }

    /// Something that stops it, for another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Publishes a message; waits while too many are in transit. `watch`: what of it [`Self::fates`] tells. Its
    /// hash is added to `options` where it travels as data.
    ///
    /// # Errors
    /// It is too large, or there are too many topics, or the member has ended.
    pub fn publish(
        &self,
        topic: Topic,
        body: Body,
        options: Options,
        watch: Watch,
    ) -> Result<ObjectKey, GroupError> {
        let (size, max) = (body.len(), self.message_max);
        if size > max {
            return Err(GroupError::TooLarge { size, max });
        }
        let (body, file) = match &self.files {
            Some(files) => body
                .kept_in(files)
                .map_err(|error| GroupError::Cache(error.kind(), error.to_string()))?,
            None => (body, None),
        };
        let name = file.clone();
        let published = self.ask(|reply| {
            Command::Publish(Box::new(Publication { topic, body, options, watch, file, reply }))
        })?;
        if let (Err(_), Some(files), Some(name)) = (&published, &self.files, name) {
            files.remove(&name);
        }
        published
    }

    /// What is new of own messages that are followed, since this was asked last.
    ///
    /// # Errors
    /// The member has ended.
    pub fn fates(&self) -> Result<Vec<Fate>, GroupError> {
        self.ask(Command::Fates)
    }

    /// Asks others soon how they stand to messages that are watched. It costs an announcement of this node,
    /// and one of each that has not said yet that it holds all.
    ///
    /// # Errors
    /// The member has ended.
    pub fn ask_standings(&self) -> Result<(), GroupError> {
        self.commands.send(Command::AskStandings).map_err(|_| GroupError::Ended)?;
        self.stopper.wake();
        Ok(())
    }

    /// Subscribes from now on; what is wanted of what is here already comes at once. Some hundred messages
    /// are handed over before one of them is dropped; what follows waits where it is kept, and comes as
    /// they go.
    ///
    /// # Errors
    /// The member has ended.
    pub fn subscribe(&self, subscription: Subscription) -> Result<SubscriptionId, GroupError> {
        self.subscribe_through(subscription, &self.gate())
    }

    /// The same for subscriptions whose messages come to one place, and share the room there: of this
    /// member's only.
    ///
    /// # Errors
    /// The member has ended.
    pub fn subscribe_through(
        &self,
        subscription: Subscription,
        gate: &Gate,
    ) -> Result<SubscriptionId, GroupError> {
        self.ask(|reply| Command::Subscribe(subscription, Some(gate.clone()), reply))
    }

    /// Asks for what such a subscription wants, and keeps it: nobody is given any of it.
    ///
    /// # Errors
    /// The member has ended.
    pub fn keep(&self, subscription: Subscription) -> Result<SubscriptionId, GroupError> {
        self.ask(|reply| Command::Subscribe(subscription, None, reply))
    }

    /// By which several subscriptions can share their room.
    #[must_use]
    pub fn gate(&self) -> Gate {
        Gate::new(self.stopper.waker().clone())
    }

    /// Ends a subscription; false when there is none of that id.
    ///
    /// # Errors
    /// The member has ended.
    pub fn unsubscribe(&self, id: SubscriptionId) -> Result<bool, GroupError> {
        self.ask(|reply| Command::Unsubscribe(id, reply))
    }

    /// Withdraws this member's messages with this tag, as far as they still wait or can be repaired.
    /// Gives their number.
    ///
    /// # Errors
    /// The member has ended.
    pub fn cancel(&self, tag: u64) -> Result<usize, GroupError> {
        self.ask(|reply| Command::Cancel(tag, reply))
    }

    /// What its monitor knows; `None` without one.
    ///
    /// # Errors
    /// The member has ended.
    pub fn monitored(&self) -> Result<Option<Monitored>, GroupError> {
        self.ask(Command::Monitored).map(|known| known.map(|known| *known))
    }

    /// What its monitor tells of this machine, beside what the member measures itself.
    ///
    /// # Errors
    /// The member has ended.
    pub fn set_host_facts(
        &self,
        facts: fanfare_messaging::monitor::Facts,
    ) -> Result<(), GroupError> {
        self.commands.send(Command::SetHostFacts(facts)).map_err(|_| GroupError::Ended)?;
        self.stopper.wake();
        Ok(())
    }

    /// Sends no more than this from now on, or as much as its rate allows.
    ///
    /// # Errors
    /// The member has ended.
    pub fn set_ceiling(&self, most: Option<fanfare_proto::Bitrate>) -> Result<(), GroupError> {
        self.commands.send(Command::SetCeiling(most)).map_err(|_| GroupError::Ended)?;
        self.stopper.wake();
        Ok(())
    }

    /// How it stands.
    ///
    /// # Errors
    /// The member has ended.
    pub fn status(&self) -> Result<GroupStatus, GroupError> {
        self.ask(Command::Status)
    }

    /// Waits until all that was published by [`MessageSender`]s is on its way.
    fn flush(&self) -> Result<(), GroupError> {
        self.ask(Command::Flush)
    }

    fn ask<A>(&self, command: impl FnOnce(SyncSender<A>) -> Command) -> Result<A, GroupError> {
        let (reply, answer) = sync_channel(1);
        self.commands.send(command(reply)).map_err(|_| GroupError::Ended)?;
        self.stopper.wake();
        answer.recv().map_err(|_| GroupError::Ended)
    }
}

impl Group {
    /// The interface that it waits for: it is down or has no address. Until then it hears only this
    /// machine.
    #[must_use]
    pub fn awaited(&self) -> Option<&str> {
        self.awaited.as_deref()
    }

    /// Its interface.
    #[must_use]
    pub fn interface(&self) -> Option<&Interface> {
        self.interface.as_ref()
    }

    /// What may be asked of it from other threads.
    #[must_use]
    pub fn handle(&self) -> GroupHandle {
        self.handle.clone()
    }

    /// The next event; waits for it.
    ///
    /// # Errors
    /// Nothing came in time, or the member has ended and everything was told.
    pub fn next_event(&self, timeout: Duration) -> Result<GroupEvent, RecvTimeoutError> {
        match &self.events {
            Some(events) => events.next_event(timeout),
            None => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// The same; messages that travelled together come as one event, [`GroupEvent::Batch`].
    ///
    /// # Errors
    /// As [`Self::next_event`].
    pub fn next_batch(&self, timeout: Duration) -> Result<GroupEvent, RecvTimeoutError> {
        match &self.events {
            Some(events) => events.next_batch(timeout),
            None => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// All events until the member ends, each as it comes.
    pub fn events(&self) -> impl Iterator<Item = GroupEvent> {
        self.events.iter().flat_map(GroupEvents::iter)
    }

    /// The events for another thread; [`Self::next_event`] gives none any more.
    pub fn take_events(&mut self) -> Option<GroupEvents> {
        self.events.take()
    }

    /// Says good-bye and ends; waits for it.
    #[must_use]
    pub fn leave(mut self) -> GroupReport {
        self.events = None;
        self.stopper.stop();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(report)) => report,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => GroupReport::default(),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.events = None;
        if let Some(thread) = self.thread.take() {
            self.stopper.stop();
            // A panic in the thread has said so already.
            let _ = thread.join();
        }
    }
}
