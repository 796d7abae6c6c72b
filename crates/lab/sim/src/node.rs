//! Drives one [`Session`] as its documentation says: tells it what happened, drains it, and notes
//! when it must be woken.

mod gateway;
mod publishing;

pub use publishing::PublishedMessage;
use publishing::Publishing;

use crate::{
    clock::Clock,
    content::{CheckedStorage, HostStorage},
    monitor_report::MonitorReport,
    network::Host,
    plan::{GroupPlan, HostPlan, Object},
    protocol_node::{ProtocolEvent, ProtocolNode},
    results::series::Series,
};
use fanfare_messaging::{Delivered, Event as GroupEvent, Filter, GroupStats};
use fanfare_proto::{
    Destination, Ecn, Event, InstanceId, ObjectKey, ObjectKind, ObjectTransportId, RecvMeta,
    Session, SessionConfig, Stats, Time,
};
use std::collections::{BTreeSet, VecDeque};

/// Datagrams asked of a session at once.
const BATCH: usize = 16;
/// Wakes of one session without time passing: more is a timer that never gets its way.
const STORM_WAKES: u32 = 1_000;
/// Datagrams out of one drain: more is a session that never has enough.
const STORM_DATAGRAMS: usize = 200_000;

/// An object as it was handed to a sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedObject {
    /// Its name on the wire.
    pub key: ObjectKey,
    /// What kind.
    pub kind: ObjectKind,
    /// Bytes.
    pub size: u64,
    /// Its NORM_INFO.
    pub info: Option<Vec<u8>>,
    /// It was withdrawn: nobody need have it.
    pub cancelled: bool,
}

/// One object received whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Which.
    pub key: ObjectKey,
    /// Bytes, as the session told.
    pub size: u64,
    /// When.
    pub at: Time,
    /// Every one of its bytes is in storage.
    pub whole: bool,
}

/// What a node wants to put on the network.
pub(crate) type Output<'a> = dyn FnMut(Destination, Option<Ecn>, &[u8]) + 'a;

/// One node: a session, its storage, and what came of it.
#[derive(Debug)]
pub(crate) struct Node {
    host: Host,
    config: SessionConfig,
    /// What the session takes for the time.
    clock: Clock,
    seed: u64,
    number_of_group: u8,
    group: Option<GroupPlan>,
    protocol: Option<ProtocolNode>,
    storage: CheckedStorage,
    buffer: Vec<u8>,
    backlog: VecDeque<Object>,
    publishing: VecDeque<Publishing>,
    /// Objects whose first pass has ended.
    sent: u64,
    /// Messages that a gateway had it publish and that have not been sent.
    unsent: u64,
    /// Messages published, and their bytes.
    pub(crate) published: (u64, u64),
    pub(crate) publications: Vec<PublishedMessage>,
    /// Messages handed over.
    pub(crate) messages: Vec<(Time, Delivered)>,
    /// Counters of group nodes, as [`Self::lives`].
    past_group: Vec<GroupStats>,
    /// What it holds of every object that begins: offset, bytes.
    before: Vec<(u64, u64)>,
    /// It looks at them before it says so.
    examines: bool,
    pub(crate) offers: Vec<OfferedObject>,
    pub(crate) completions: Vec<Completion>,
    done: BTreeSet<ObjectKey>,
    pub(crate) events: Vec<(Time, Event)>,
    /// One entry for each life that has ended.
    past: Vec<Stats>,
    /// Bytes of objects that were new, over time.
    pub(crate) received: Series,
    /// How many of them are in it.
    counted: u64,
    pub(crate) wakes: u64,
    last_wake: (Time, u32),
    /// The earliest wake that is on the agenda.
    pub(crate) planned: Option<Time>,
}

impl Node {
    pub(crate) fn new(host: Host, plan: &HostPlan, seed: u64) -> Self {
        Self {
            host,
            config: plan.config.clone(),
            clock: Clock::new(plan.drift_ppm),
            seed,
            number_of_group: plan.group,
            group: plan.group_plan.clone(),
            protocol: None,
            storage: CheckedStorage::default(),
            buffer: Vec::new(),
            backlog: VecDeque::new(),
            publishing: VecDeque::new(),
            sent: 0,
            unsent: 0,
            published: (0, 0),
            publications: Vec::new(),
            messages: Vec::new(),
            past_group: Vec::new(),
            before: Vec::new(),
            examines: false,
            offers: Vec::new(),
            completions: Vec::new(),
            done: BTreeSet::new(),
            events: Vec::new(),
            past: Vec::new(),
            received: Series::default(),
            counted: 0,
            wakes: 0,
            last_wake: (Time::ZERO, 0),
            planned: None,
        }
    }

    /// Begins a life; after a crash it is a new one, with another instance id and other chance.
    pub(crate) fn start(&mut self, now: Time) {
        let life = self.past.len() as u64;
        let mut config = self.config.clone();
        if let Some(sender) = &mut config.sender {
            sender.instance_id = InstanceId(sender.instance_id.0.wrapping_add(life as u16));
        }
        let seed = self.seed ^ (u64::from(self.host.0) + 1) << 20 ^ (life << 50);
        let shown = self.clock.shows(now);
        self.protocol = Some(ProtocolNode::new(config, self.group.as_ref(), seed, shown));
        self.storage.forget();
        self.unsent = 0;
    }

    /// Ends a life without a word.
    pub(crate) fn crash(&mut self) {
        if let Some(protocol) = self.protocol.take() {
            self.past.push(protocol.stats());
            self.past_group.extend(protocol.group_stats());
        }
        self.backlog.clear();
        self.publishing.clear();
    }

    /// How many lives have ended before this one.
    pub(crate) fn life(&self) -> usize {
        self.past.len()
    }

    pub(crate) fn is_up(&self) -> bool {
        self.protocol.is_some()
    }

    pub(crate) fn receives(&self) -> bool {
        let subscribes = self.group.as_ref().is_none_or(|plan| !plan.subscriptions.is_empty());
        self.config.receiver.is_some() && subscribes
    }

    /// In which group it is.
    pub(crate) fn number_of_group(&self) -> u8 {
        self.number_of_group
    }

    /// What it subscribes to for itself, not for a gateway.
    pub(crate) fn filters(&self) -> Vec<Filter> {
        let plans = self.group.iter().flat_map(|plan| &plan.subscriptions);
        let plans = plans.filter(|subscription| !subscription.copies);
        plans.map(|subscription| subscription.filter.clone()).collect()
    }

    /// Whether it has received this object whole, in any life.
    pub(crate) fn has(&self, key: ObjectKey) -> bool {
        self.done.contains(&key)
    }

    pub(crate) fn host(&self) -> Host {
        self.host
    }

    pub(crate) fn config(&self) -> &SessionConfig {
        &self.config
    }

    pub(crate) fn session(&mut self) -> Option<&mut Session> {
        self.protocol.as_mut().map(ProtocolNode::session)
    }

    /// When its session wants to be woken.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let at = self.protocol.as_ref()?.next_timeout()?;
        Some(self.clock.when(at))
    }

    pub(crate) fn storage(&self) -> &CheckedStorage {
        &self.storage
    }

    /// Counters of each life, the present one last.
    pub(crate) fn lives(&self) -> Vec<Stats> {
        self.past.iter().copied().chain(self.protocol.as_ref().map(ProtocolNode::stats)).collect()
    }

    /// Counters of a group node in each life; none of a plain session.
    pub(crate) fn group_lives(&self) -> Vec<GroupStats> {
        let present = self.protocol.as_ref().and_then(ProtocolNode::group_stats);
        self.past_group.iter().copied().chain(present).collect()
    }

    /// What its monitor has come to.
    pub(crate) fn monitor_report(&self) -> Option<MonitorReport> {
        MonitorReport::of(self.protocol.as_ref()?.group_ref()?)
    }

    pub(crate) fn on_datagram(&mut self, now: Time, meta: RecvMeta, bytes: &[u8]) {
        let Some(protocol) = &mut self.protocol else { return };
        let mut shelf = HostStorage { own: self.config.node_id, received: &mut self.storage };
        protocol.handle_datagram(self.clock.shows(now), meta, bytes, &mut shelf);
    }

    /// A wake from the agenda. It may be one that is no longer wanted; then nothing happens.
    pub(crate) fn on_wake(&mut self, now: Time) {
        let Some(protocol) = &mut self.protocol else { return };
        let Some(at) = protocol.next_timeout() else { return };
        if self.clock.when(at) > now {
            return;
        }
        self.wakes += 1;
        self.last_wake = match self.last_wake {
            (last, count) if last == now => (now, count + 1),
            _ => (now, 1),
        };
        assert!(
            self.last_wake.1 <= STORM_WAKES,
            "host {} at {now}: woken {STORM_WAKES} times without time passing, now by {:?} of {at}",
            self.host.0,
            protocol.poll_timeout()
        );
        let mut shelf = HostStorage { own: self.config.node_id, received: &mut self.storage };
        protocol.handle_timeout(self.clock.shows(now), &mut shelf);
    }

    /// Takes an object for sending, now or when the session has room.
    pub(crate) fn offer(&mut self, object: Object) {
        self.backlog.push_back(object);
    }

    /// Withdraws its `nth` object.
    pub(crate) fn cancel(&mut self, nth: usize) {
        if let (Some(protocol), Some(offer)) = (&mut self.protocol, self.offers.get_mut(nth)) {
            offer.cancelled = true;
            protocol.session().sender().cancel(offer.key.object);
        }
    }

    pub(crate) fn transport_id(&self, nth: usize) -> Option<ObjectTransportId> {
        self.offers.get(nth).map(|offer| offer.key.object)
    }

    /// Confirms all objects received so far.
    pub(crate) fn confirm(&mut self) {
        if let Some(session) = self.protocol.as_mut().map(ProtocolNode::session) {
            self.completions.iter().for_each(|c| session.receiver().confirm(c.key));
        }
    }

    /// From now on it holds these ranges of every object that begins.
    pub(crate) fn held_before(&mut self, ranges: Vec<(u64, u64)>) {
        self.before = ranges;
    }

    /// It begins, or ends, to look at what it has of objects.
    pub(crate) fn examine(&mut self, now: Time, examines: bool) {
        self.examines = examines;
        let session = self.protocol.as_mut().map(ProtocolNode::session).filter(|_| !examines);
        let Some(session) = session else { return };
        let begun = self.events.iter().filter_map(|(_, event)| match event {
            Event::ObjectNew { key, .. } => Some(*key),
            _ => None,
        });
        let mut shelf = HostStorage { own: self.config.node_id, received: &mut self.storage };
        for key in begun {
            claim(session, &mut shelf, key, &self.before);
            session.receiver().examine(now, key, false);
        }
    }

    /// It finds bytes (offset, length) of the `nth` object that it began wrong.
    pub(crate) fn reject(&mut self, now: Time, nth: usize, (offset, len): (u64, u64)) {
        let begun = self.events.iter().filter_map(|(_, event)| match event {
            Event::ObjectNew { key, .. } => Some(*key),
            _ => None,
        });
        if let (Some(key), Some(protocol)) = (begun.into_iter().nth(nth), &mut self.protocol) {
            self.storage.lose(key, offset, offset + len);
            protocol.session().receiver().reject(self.clock.shows(now), key, offset, len);
        }
    }

    /// Whether objects still wait for room in the session.
    pub(crate) fn has_backlog(&self) -> bool {
        !self.backlog.is_empty() || !self.publishing.is_empty()
    }

    /// Drains the session. True when something was completed, or the last flush ended.
    pub(crate) fn drain(&mut self, now: Time, output: &mut Output<'_>) -> bool {
        let mut news = false;
        self.enqueue(now);
        loop {
            self.transmit(now, output);
            let purged = self.take_events(now, &mut news);
            let room = purged || !self.publishing.is_empty();
            if !room || !self.enqueue(now) {
                self.count_received(now);
                return news;
            }
        }
    }

    fn count_received(&mut self, now: Time) {
        let new = self.storage.new_bytes - self.counted;
        if new > 0 {
            self.received.add(now, new);
            self.counted += new;
        }
    }

    fn transmit(&mut self, now: Time, output: &mut Output<'_>) {
        let Some(protocol) = &mut self.protocol else { return };
        let mut shelf = HostStorage { own: self.config.node_id, received: &mut self.storage };
        let (local, mut sent) = (self.clock.shows(now), 0);
        while let Some(batch) = protocol.poll_transmit(local, BATCH, &mut self.buffer, &mut shelf) {
            assert!(batch.segment_size > 0, "host {} at {now}: an empty datagram", self.host.0);
            for datagram in self.buffer.chunks(batch.segment_size) {
                output(batch.destination, batch.ecn, datagram);
                sent += 1;
            }
            assert!(sent < STORM_DATAGRAMS, "host {} at {now}: sends without end", self.host.0);
        }
    }

    /// True when the session may have room again.
    fn take_events(&mut self, now: Time, news: &mut bool) -> bool {
        let Some(protocol) = &mut self.protocol else { return false };
        let mut purged = false;
        while let Some(told) = protocol.poll_event() {
            let event = match told {
                ProtocolEvent::Session(event) => event,
                ProtocolEvent::Group(GroupEvent::Message(message)) => {
                    self.messages.push((now, message));
                    continue;
                }
                ProtocolEvent::Group(_) => continue,
            };
            match &event {
                Event::ObjectCompleted { key, size } => {
                    let whole = self.storage.is_whole(*key, *size);
                    self.completions.push(Completion { key: *key, size: *size, at: now, whole });
                    self.done.insert(*key);
                    *news = true;
                }
                Event::ObjectNew { key, .. } => {
                    let mut shelf =
                        HostStorage { own: self.config.node_id, received: &mut self.storage };
                    self.before.iter().for_each(|&(o, len)| shelf.received.keep(*key, o, o + len));
                    if self.examines {
                        protocol.session().receiver().examine(now, *key, true);
                    } else {
                        claim(protocol.session(), &mut shelf, *key, &self.before);
                    }
                }
                Event::ObjectSent { .. } => {
                    self.sent += 1;
                    self.unsent = self.unsent.saturating_sub(1);
                }
                Event::FlushDone => *news = true,
                Event::ObjectPurged { .. } => purged = true,
                _ => {}
            }
            self.events.push((now, event));
        }
        purged
    }

    /// Hands waiting objects to the session while it takes them. True when it took any.
    fn enqueue(&mut self, now: Time) -> bool {
        let before = self.offers.len();
        self.publish_next(now);
        let Some(session) = self.protocol.as_mut().map(ProtocolNode::session) else { return false };
        while let Some(object) = self.backlog.pop_front() {
            let Ok(key) = session.sender().enqueue(self.clock.shows(now), object.to_new()) else {
                self.backlog.push_front(object);
                break;
            };
            let Object { kind, size, info, .. } = object;
            self.offers.push(OfferedObject { key, kind, size, info, cancelled: false });
        }
        self.offers.len() > before
    }
}

/// Says that these ranges (offset, bytes) of an object are here.
fn claim(
    session: &mut Session,
    shelf: &mut HostStorage<'_>,
    key: ObjectKey,
    ranges: &[(u64, u64)],
) {
    for &(offset, len) in ranges {
        session.receiver().have(key, offset, len, shelf);
    }
}
