//! A gateway between groups on real sockets: a member of each, and what one hears is published in the
//! others.
//!
//! Threads around the machine that says what crosses ([`fanfare_messaging::gateway`]). All that
//! is heard, in whatever group, comes to the caller's thread by one channel; each group has a thread that
//! publishes there, so that a full one does not hold up the others.
//!
//! A gateway has its groups for itself ([`Gateway::open`]), or shares members with others, who tell it
//! what these hear ([`Gateway::among`], [`Ear`]).

use std::{
    collections::BTreeMap,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread::JoinHandle,
    time::Duration,
};

use fanfare_messaging::{
    ForwardedMessage, Gateway as Machine, GatewayConfig, GroupIndex, IncomingMessage, Route,
    Subscription,
};
use fanfare_proto::NodeId;

use crate::{
    clock::Clock,
    group::{Body, Group, GroupError, GroupEvent, GroupEvents, GroupHandle, Message, Watch},
    group_writer::{GroupParcel, GroupWriter},
    join_error::JoinError,
};

pub use fanfare_messaging::GatewayStats;

/// Events that wait to be looked at.
const HEARD: usize = 1024;

/// What a gateway tells.
#[derive(Debug)]
pub enum GatewayEvent {
    /// An event of its member of a group, other than messages.
    Group(GroupIndex, GroupEvent),
    /// A group does not take a message.
    NotPublished(GroupIndex, GroupError),
}

#[derive(Debug)]
enum News {
    Event(GroupIndex, GroupEvent),
    Heard(GroupIndex, Box<Message>),
    /// A message was published, or was not.
    Published(Way, Result<(), GroupError>),
    /// A member has ended, or the gateway is to.
    End,
}

/// By which a gateway is told what a member hears that it shares with others.
#[derive(Debug, Clone)]
pub struct Ear {
    side: GroupIndex,
    news: SyncSender<News>,
}

impl Ear {
    /// A message came by one of the gateway's subscriptions ([`Gateway::subscriptions`]); waits while it is
    /// behind.
    pub fn hear(&self, message: Box<Message>) {
        // Where the gateway has ended, nobody wants it.
        let _ = self.news.send(News::Heard(self.side, message));
    }

    /// The gateway is to end.
    pub fn close(&self) {
        let _ = self.news.send(News::End);
    }
}

/// From which group into which.
type Way = (GroupIndex, GroupIndex);

/// Messages that the machine has let go, and the group has not taken.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    on_their_way: u64,
    refused: u64,
}

/// A gateway, running.
#[derive(Debug)]
pub struct Gateway {
    machine: Machine<Body>,
    members: Vec<GroupHandle>,
    writers: Vec<GroupWriter<Way>>,
    clock: Clock,
    news: Receiver<News>,
    ears: Vec<Ear>,
    /// The members are its own, and end with it.
    owns: bool,
    /// Fates of messages on their way into a group.
    outcomes: BTreeMap<Way, Outcome>,
    threads: Vec<JoinHandle<()>>,
}

impl Gateway {
    /// Joins these groups; sides are their places. All its chance comes from `seed`.
    ///
    /// # Errors
    /// What this machine refuses: threads; or a member has ended.
    pub fn open(
        groups: &mut [Group],
        routes: Vec<Route>,
        config: GatewayConfig,
        seed: u64,
    ) -> Result<Self, JoinError> {
        let members: Vec<GroupHandle> = groups.iter().map(|group| group.handle()).collect();
        let mut gateway = Self::among(members, routes, config, seed)?;
        gateway.owns = true;
        for (group, ear) in groups.iter_mut().zip(gateway.ears.clone()) {
            if let Some(events) = group.take_events() {
                let tell = move || pass_on(ear.side, &events, &ear.news);
                gateway.threads.push(spawn("fanfare-events", tell)?);
            }
        }
        Ok(gateway)
    }

    /// A gateway between members whose events others take: [`Self::ear`] is told of its messages.
    ///
    /// # Errors
    /// What this machine refuses: threads.
    pub fn among(
        members: Vec<GroupHandle>,
        routes: Vec<Route>,
        config: GatewayConfig,
        seed: u64,
    ) -> Result<Self, JoinError> {
        let (sender, news) = sync_channel(HEARD);
        let (mut threads, mut writers, mut ears) = (Vec::new(), Vec::new(), Vec::new());
        for (number, member) in members.iter().enumerate() {
            let (side, news) = (GroupIndex(number as u8), sender.clone());
            ears.push(Ear { side, news: news.clone() });
            let told = move |way, published| news.send(News::Published(way, published)).is_ok();
            // The more urgent must not wait for who lags behind.
            let (writer, thread) = GroupWriter::start(member.clone(), Watch::Nothing, told)?;
            threads.push(thread);
            writers.push(writer);
        }
        let clock = Clock::start();
        let nodes: Vec<NodeId> = members.iter().map(GroupHandle::id).collect();
        let machine = Machine::new(clock.now(), &nodes, routes, config, seed);
        let (owns, outcomes) = (false, BTreeMap::new());
        Ok(Self { machine, members, writers, clock, news, ears, owns, outcomes, threads })
    }

    /// What its member in a group has to subscribe to for it.
    #[must_use]
    pub fn subscriptions(&self, side: GroupIndex) -> Vec<Subscription> {
        self.machine.subscriptions(side)
    }

    /// By which it is told what a member hears; `None` for a side that there is not.
    #[must_use]
    pub fn ear(&self, side: GroupIndex) -> Option<Ear> {
        self.ears.get(usize::from(side.0)).cloned()
    }

    /// Begins to hear the groups.
    ///
    /// # Errors
    /// A member has ended.
    pub fn subscribe(&self) -> Result<(), GroupError> {
        for (number, member) in self.members.iter().enumerate() {
            for subscription in self.machine.subscriptions(GroupIndex(number as u8)) {
                member.subscribe(subscription)?;
            }
        }
        Ok(())
    }

    /// What came of messages from one group into another.
    #[must_use]
    pub fn stats(&self, from: GroupIndex, to: GroupIndex) -> GatewayStats {
        let stats = self.machine.stats(from, to);
        let outcome = self.outcomes.get(&(from, to)).copied().unwrap_or_default();
        GatewayStats {
            carried: stats.carried - outcome.on_their_way - outcome.refused,
            dropped: stats.dropped + outcome.refused,
            waiting: stats.waiting + outcome.on_their_way,
            ..stats
        }
    }

    /// Messages that a group did not take.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.outcomes.values().map(|outcome| outcome.refused).sum()
    }

    /// Works for up to `timeout`; gives what is to be told.
    ///
    /// # Errors
    /// Time is up, or a member has ended.
    pub fn next_event(&mut self, timeout: Duration) -> Result<GatewayEvent, RecvTimeoutError> {
        let end = self.clock.now() + timeout;
        loop {
            self.carry();
            let now = self.clock.now();
            if now >= end {
                return Err(RecvTimeoutError::Timeout);
            }
            // What is due, but has no room, waits for word of its group.
            let due = self.machine.next_timeout().filter(|due| *due > now);
            let next = due.map_or(end, |due| due.min(end));
            match self.news.recv_timeout(next.since(now)) {
                Ok(
                    News::Event(side, GroupEvent::Message(message)) | News::Heard(side, message),
                ) => self.on_message(side, &message),
                Ok(News::Event(side, event)) => return Ok(GatewayEvent::Group(side, event)),
                Ok(News::Published(way, published)) => {
                    let outcome = self.outcomes.entry(way).or_default();
                    outcome.on_their_way -= 1;
                    let Err(error) = published else { continue };
                    outcome.refused += 1;
                    let (_, side) = way;
                    if let (GroupError::Ended, Some(writer)) =
                        (&error, self.writers.get_mut(usize::from(side.0)))
                    {
                        // What would go there waits, within the machine's bounds.
                        writer.close();
                    }
                    return Ok(GatewayEvent::NotPublished(side, error));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(News::End) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(RecvTimeoutError::Disconnected);
                }
            }
        }
    }

    fn on_message(&mut self, side: GroupIndex, message: &Message) {
        let Message { key, description, body, age, .. } = message;
        let (size, body) = (body.len(), body.clone());
        let heard = IncomingMessage { key: *key, size, age: *age, description, body };
        self.machine.on_message(self.clock.now(), side, heard);
    }

    fn carry(&mut self) {
        let Self { machine, writers, clock, outcomes, .. } = self;
        let writer = |side: GroupIndex| writers.get(usize::from(side.0));
        let has_room = |side: GroupIndex| writer(side).is_some_and(GroupWriter::has_room);
        while let Some(crossing) = machine.poll(clock.now(), has_room) {
            let ForwardedMessage { from, to, topic, options, body, .. } = crossing;
            if let Some(writer) = writer(to) {
                outcomes.entry((from, to)).or_default().on_their_way += 1;
                writer.put(GroupParcel { topic, options, body, token: (from, to) });
            }
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        for member in self.members.iter().filter(|_| self.owns) {
            member.stopper().stop();
        }
        self.ears.clear();
        // Whoever waits for room in a channel, or for more, is let go first.
        drop(std::mem::replace(&mut self.news, sync_channel(0).1));
        self.writers.clear();
        for thread in self.threads.drain(..) {
            // A panic in the thread has said so already.
            let _ = thread.join();
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(run)
}

/// Gives a member's events to the caller's thread.
fn pass_on(side: GroupIndex, events: &GroupEvents, news: &SyncSender<News>) {
    while let Ok(event) = events.recv() {
        if news.send(News::Event(side, event)).is_err() {
            return;
        }
    }
    // Nobody needs to know who has gone.
    let _ = news.send(News::End);
}
