//! Groups on real sockets: a member publishes and subscribes, and repairs for others.
//!
//! - [`Group`]: a member that runs; `builder`: how it is made
//! - [`body`]: what a message holds; [`event`]: what a member tells; [`inbox`]: messages as files
//! - `engine`: its node in the driver's hands; `store`: the bytes there; `checker`: are they right?

pub mod body;
mod builder;
mod checker;
mod engine;
pub mod event;
pub mod inbox;
mod store;

use std::{
    fmt,
    net::SocketAddr,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread::JoinHandle,
    time::Duration,
};

pub use body::{Body, BodyError};
pub use builder::GroupOptions;
pub use event::{GroupEvent, GroupReport, Message};
use fanfare_group::{Options, PublishError, Subscription, SubscriptionId, Topic};
use fanfare_proto::{NodeId, ObjectKey};
use fanfare_udp::Interface;
pub use inbox::Inbox;

use crate::node::Stopper;
use engine::{Command, Publication};

/// Why something asked of a member was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupError {
    /// The message was not taken.
    Publish(PublishError),
    /// The message has more bytes than this node's policy allows.
    TooLarge {
        /// Its bytes.
        size: u64,
        /// The most.
        max: u64,
    },
    /// The member has ended.
    Ended,
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publish(error) => error.fmt(f),
            Self::TooLarge { size, max } => write!(
                f,
                "message ({size} bytes): is longer than messages may be here ({max} bytes). Raise \
                 --message-max here and at subscribers, or use fanfare send"
            ),
            Self::Ended => write!(f, "group: this member has ended. Start it again"),
        }
    }
}

impl std::error::Error for GroupError {}

/// A member of a group, running. Dropping it stops it.
#[derive(Debug)]
pub struct Group {
    id: NodeId,
    address: SocketAddr,
    interface: Option<Interface>,
    message_max: u64,
    stopper: Stopper,
    commands: SyncSender<Command>,
    events: Option<Receiver<GroupEvent>>,
    thread: Option<JoinHandle<GroupReport>>,
}

impl Group {
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

    /// Its interface.
    #[must_use]
    pub fn interface(&self) -> Option<&Interface> {
        self.interface.as_ref()
    }

    /// Something that stops it, for another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Publishes a message; waits while too many are in transit. `watched`: it is told who holds it
    /// ([`GroupEvent::Held`]). Its hash is added to `options` where it travels as data.
    ///
    /// # Errors
    /// It is too large, or there are too many topics, or the member has ended.
    pub fn publish(
        &self,
        topic: Topic,
        body: Body,
        options: Options,
        watched: bool,
    ) -> Result<ObjectKey, GroupError> {
        let (size, max) = (body.len(), self.message_max);
        if size > max {
            return Err(GroupError::TooLarge { size, max });
        }
        self.ask(|reply| {
            Command::Publish(Box::new(Publication { topic, body, options, watched, reply }))
        })?
        .map_err(GroupError::Publish)
    }

    /// Subscribes from now on; what is wanted of what is here already comes at once.
    ///
    /// # Errors
    /// The member has ended.
    pub fn subscribe(&self, subscription: Subscription) -> Result<SubscriptionId, GroupError> {
        self.ask(|reply| Command::Subscribe(subscription, reply))
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

    fn ask<A>(&self, command: impl FnOnce(SyncSender<A>) -> Command) -> Result<A, GroupError> {
        let (reply, answer) = sync_channel(1);
        self.commands.send(command(reply)).map_err(|_| GroupError::Ended)?;
        self.stopper.waker.wake();
        answer.recv().map_err(|_| GroupError::Ended)
    }

    /// The next event; waits for it.
    ///
    /// # Errors
    /// Nothing came in time, or the member has ended and everything was told.
    pub fn next_event(&self, timeout: Duration) -> Result<GroupEvent, RecvTimeoutError> {
        match &self.events {
            Some(events) => events.recv_timeout(timeout),
            None => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// The events for another thread; [`Self::next_event`] gives none any more.
    pub fn take_events(&mut self) -> Option<Receiver<GroupEvent>> {
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
