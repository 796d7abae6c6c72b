//! A node of a group: a session, and the machines around it. It dispatches. The few rules in this
//! module concern several machines at once.
//!
//! - `incoming`: dispatches a datagram; `requests`: NACKs of others; `announcements`: what this
//!   node and others announce to have; `shorts`: how often that is short
//! - `session_events`: what the session's events mean
//! - `outgoing`: what to send next, and when to wake; `encapsulation`: which NORM message carries a
//!   frame
//! - `publishing`: own messages; `proactive`: sums and parity of own messages when no request can be heard
//! - `answering`: requests for own short messages
//! - `coding`, `decoding`: coded packets, sent and received; `coded_requests`: what to request
//!   beside them
//! - `relaying`: forwarding without a request
//! - `monitoring`: what this node and others tell of themselves
//! - `subscribing`: what a new subscription gets of what is here; `greeting`: what a new subscriber
//!   is given by others
//! - `restoring`: what the process had before a restart; `former_ids`: who this node was then

mod announcements;
mod answering;
mod coded_requests;
mod coding;
mod decoding;
mod encapsulation;
mod former_ids;
mod greeting;
mod incoming;
mod monitoring;
mod outgoing;
mod proactive;
mod publishing;
mod relaying;
mod requests;
mod restoring;
mod session_events;
mod shorts;
mod subscribing;
#[cfg(test)]
mod tests;

pub use outgoing::Wake;
pub use publishing::Published;

use self::publishing::FLUSHES;
use crate::{
    cache::{Cache, CachePolicy, PriorityThenAge},
    coding::equations::Equations,
    coding::proactive::ProactiveSums,
    coding::sum_cache::SumCache,
    config::GroupConfig,
    delivery::Delivery,
    description::Description,
    event::Event,
    forwarding::relay::Relay,
    lru_map::LruMap,
    membership::flood::Flood,
    membership::former_ids::FormerIds,
    membership::holders::Holders,
    membership::members::Members,
    membership::trickle::Trickle,
    monitoring::Monitoring,
    occupancy::{Load, PUBLISHERS_MAX},
    publisher::Publisher,
    repair::repair_round::RepairRound,
    repair::repairer::{OriginTiming, Repairer},
    repair::request_pool::RequestPools,
    repair::requester::Requester,
    source_log::{SourceLog, id_of},
    stats::GroupStats,
};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};
use fanfare_proto::{
    Duration, FecConfig, FeedbackPath, Incarnation, InstanceId, JoinPolicy, NodeId, ObjectKey,
    ObjectTransportId, SenderSummary, Session, SessionConfig, Time, rng::Rng,
};
use fanfare_wire::{GroupSize, QuantizedRtt, Sequence, header::SenderFields};
use shorts::SHORTS_MAX;

/// A node that says nothing for so many of the longest intervals has left: Trickle lets two pass.
const LIVES: u32 = 3;
/// Longest time between two probes, where every node may be a sender: each costs several answers, and
/// all that they tell is whether the round trip has changed. In a company of 24 vehicles that are 4 % of
/// all bytes every 30 s.
const PROBE_MAX: Duration = Duration::from_secs(120);
/// Objects answered for without their topic that are remembered: they are requested again within seconds, if at all.
const RETOLD_MAX: usize = 1024;
/// Announcements, from the first message that is watched on, that call on whoever is there and not heard yet: one of
/// them may be lost.
const ROLLS: u32 = 2;
/// Room for events that is kept while there are none.
const EVENTS_ROOM: usize = 4096;
/// Ceiling on the GRTT that a repairer reckons with: a forged one must not put it to sleep.
const GRTT_MAX: Duration = Duration::from_secs(10);

/// A node of a group.
#[derive(Debug)]
pub struct GroupNode {
    config: GroupConfig,
    session: Session,
    now: Time,
    rng: Rng,
    /// Objects before the first one heard of that the session requests.
    back: u64,
    /// What own frames begin with in a session that does not send; and what its own sender says.
    fields: SenderFields,
    /// The next report's number.
    reported: Sequence,
    segment_size: usize,
    fec: FecConfig,
    publisher: Publisher,
    delivery: Delivery,
    cache: Cache,
    /// Of each publisher, in each of its instances.
    logs: BTreeMap<Incarnation, SourceLog>,
    /// When what is not here by then is given up.
    give_ups: BTreeSet<(Time, ObjectKey)>,
    repairer: Repairer,
    pools: RequestPools,
    equations: Equations,
    kept: SumCache,
    relay: Relay,
    /// Objects told to who asked, without their topic.
    retold: LruMap<ObjectKey, ()>,
    /// What others said to be the newest of publishers of which nothing had been heard yet.
    foretold: LruMap<Incarnation, ObjectTransportId>,
    proactive: ProactiveSums,
    round: RepairRound,
    /// Its messages are published fast, and wanted soon.
    prompt: bool,
    /// Messages of a flush without announcements.
    flushes_max: u32,
    /// Longest time between two probes of a small group.
    probe_max: Duration,
    requester: Requester,
    members: Members,
    holders: Holders,
    /// Announcements to come that call on everybody.
    rolls: u32,
    trickle: Trickle,
    flood: Flood,
    /// Greetings that are still to go out.
    greetings: u8,
    /// When one was answered last.
    welcomed: Option<Time>,
    /// The publisher after which the next announcement goes on.
    spoken_of: NodeId,
    /// Short announcements since the last long one.
    shorts: u32,
    /// The last node that was called by its turn.
    called: NodeId,
    /// Who spoke in a short one of a publisher that is not known here: it is called.
    unread: Option<NodeId>,
    /// Those that called since the last long announcement: they want to know by content what is held of theirs.
    callers: Vec<NodeId>,
    /// Others hold messages of another node under this one's id and instance; that is told once.
    has_twin: bool,
    /// What the datagram at hand says of the age of this message.
    told: Option<(ObjectKey, Duration)>,
    former_ids: FormerIds,
    /// Ids that nodes that are heard had before, where datagrams of one source alone come in.
    earlier_lives: BTreeSet<NodeId>,
    monitoring: Option<Box<Monitoring>>,
    events: VecDeque<Event>,
    stats: GroupStats,
    /// Bytes of the session's that were not sent, as NACKs were shortened.
    spared: u64,
}

impl GroupNode {
    /// Starts a node at `now`. `seed` seeds its random numbers. Feedback goes to the group,
    /// so that others can answer it.
    #[must_use]
    pub fn new(config: GroupConfig, mut session: SessionConfig, seed: u64, now: Time) -> Self {
        session.feedback = FeedbackPath::Group;
        let mut back = 0;
        if let Some(receiver) = &mut session.receiver {
            receiver.outlive_senders = true;
            // Before it is known what a message is about, nobody knows whether it is wanted.
            receiver.info_decides = true;
            // Until somebody subscribes there is nothing to request.
            receiver.silent = true;
            if receiver.join == JoinPolicy::AllCached {
                back = u64::from(receiver.objects_max.saturating_sub(1));
            }
        }
        let mut flushes_max = FLUSHES;
        let mut repair_rate = config.repair_rate;
        if let Some(sender) = &mut session.sender {
            if config.follows_medium {
                repair_rate = repair_rate.min(sender.rate);
            }
            sender.repair_window = sender.repair_window.max(config.cache_age);
            sender.tells_age = true;
            sender.open_group = config.follows_medium;
            if config.announces {
                flushes_max = sender.robust_factor;
                sender.robust_factor = sender.robust_factor.min(FLUSHES);
                sender.probe_max = sender.probe_max.max(PROBE_MAX);
            }
        }
        let node = session.node_id;
        let mut rng = Rng::new(seed ^ 0x6772_6f75_7000_0000);
        let trickle = Trickle::new(now, config.announce_min, config.announce_max, &mut rng);
        let policy = Box::new(PriorityThenAge);
        Self {
            fields: own_fields(&session),
            reported: Sequence(0),
            prompt: false,
            flushes_max,
            segment_size: session.sender.as_ref().map_or(0, |s| usize::from(s.segment_size)),
            fec: session.sender.as_ref().map_or_else(FecConfig::default, |s| s.fec),
            probe_max: session.sender.as_ref().map_or(PROBE_MAX, |s| s.probe_max),
            session: Session::new(session, seed, now),
            now,
            rng,
            back,
            publisher: Publisher::default(),
            delivery: Delivery::default(),
            cache: Cache::new(config.cache_bytes, config.cache_age, policy),
            logs: BTreeMap::new(),
            give_ups: BTreeSet::new(),
            repairer: match config.follows_medium {
                true => Repairer::new(node, now, repair_rate),
                false => Repairer::fixed(node, now, repair_rate),
            },
            pools: RequestPools::default(),
            equations: Equations::default(),
            kept: SumCache::default(),
            relay: Relay::default(),
            retold: LruMap::new(RETOLD_MAX),
            foretold: LruMap::new(PUBLISHERS_MAX),
            proactive: ProactiveSums::new(now),
            round: RepairRound::default(),
            requester: Requester::new(config.in_order),
            members: Members::new(node, config.announce_max * LIVES),
            holders: Holders::default(),
            rolls: 0,
            greetings: 0,
            welcomed: None,
            trickle,
            flood: Flood::default(),
            spoken_of: NodeId::NONE,
            shorts: SHORTS_MAX,
            called: NodeId::NONE,
            unread: None,
            callers: Vec::new(),
            has_twin: false,
            told: None,
            former_ids: FormerIds::default(),
            earlier_lives: BTreeSet::new(),
            monitoring: config.monitor.map(|config| Monitoring::new(config, node, seed, now)),
            events: VecDeque::new(),
            stats: GroupStats::default(),
            spared: 0,
            config,
        }
    }

    /// Decides from now on what is kept. What is kept already is forgotten.
    pub fn set_cache_policy(&mut self, policy: Box<dyn CachePolicy>) {
        self.cache = Cache::new(self.config.cache_bytes, self.config.cache_age, policy);
    }

    /// Tells from now on how others stand to this message of this node's own
    /// ([`Event::Standing`]).
    pub fn watch(&mut self, key: ObjectKey) {
        if let Some(log) = self.logs.get(&key.incarnation()) {
            self.rolls = if self.holders.watches() { self.rolls } else { ROLLS };
            self.holders.watch(log.index(key.object), key);
            // Whoever waits for word of it is to be told soon.
            self.trickle.on_call(self.now, &mut self.rng);
        }
    }

    /// Asks others soon to say how they stand to what is watched: also where it has announced itself so often that the
    /// next time is far off.
    pub fn ask_standings(&mut self, now: Time) {
        self.advance(now);
        if self.holders.watches() {
            self.on_call_of(self.session.node_id());
        }
    }

    /// A publisher wants an announcement: the sooner, the more it has published since the last.
    fn on_call_of(&mut self, publisher: NodeId) {
        match self.flood.is_much(publisher, self.members.len()) {
            true => self.trickle.on_flood(self.now, &mut self.rng),
            false => self.trickle.on_call(self.now, &mut self.rng),
        }
    }

    /// Withdraws this node's messages with this tag, as far as they still wait or can be repaired,
    /// and those of its earlier lives from what it keeps. Gives their number.
    pub fn cancel(&mut self, tag: u64) -> usize {
        let keys = self.publisher.withdraw(tag);
        for key in &keys {
            self.session.sender().cancel(key.object);
        }
        let earlier = self.publisher.withdraw_earlier(tag);
        self.drop_earlier(&earlier);
        keys.len() + earlier.len()
    }

    /// Says once more what it holds, with the next message, and good-bye: whoever published it may
    /// wait to hear that.
    pub fn leave(&mut self, now: Time) {
        self.advance(now);
        self.shorts = SHORTS_MAX;
        self.answer_all();
        self.trickle.hurry(self.now);
        let mut sender = self.session.sender();
        // Held back, it says good-bye at once.
        sender.hold(true);
        sender.end();
    }

    /// The session within. What it is told here it answers for; its events come as
    /// [`Event::Session`].
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }
    /// Nodes heard lately, and whether they say that they hear this one.
    #[must_use]
    pub fn members(&self) -> Vec<(NodeId, Option<bool>)> {
        self.members.all().collect()
    }
    /// Nodes heard of late that listen to one source alone, which is somebody else: they need not say how
    /// they stand to what is published here.
    #[must_use]
    pub fn listeners_elsewhere(&self) -> Vec<NodeId> {
        let all = self.members.all().map(|(node, _)| node);
        all.filter(|node| self.members.listens_elsewhere(*node)).collect()
    }
    /// Own messages that can still be repaired.
    #[must_use]
    pub fn own_count(&self) -> u64 {
        self.publisher.own().count() as u64
    }
    /// What a message that is kept here, or one of this node's own, says of itself.
    #[must_use]
    pub fn message(&self, key: ObjectKey) -> Option<&Description> {
        let cached = self.cache.get(key).and_then(|cached| cached.description.as_ref());
        cached.or_else(|| self.own(key))
    }
    /// How long ago it was first heard of a message of another's.
    #[must_use]
    pub fn age(&self, key: ObjectKey) -> Duration {
        let cached = self.cache.get(key);
        cached.map_or(Duration::ZERO, |object| self.now.since(object.first_heard) + object.before)
    }
    /// Others' objects that are whole here, and their bytes.
    #[must_use]
    pub fn kept(&self) -> (u64, u64) {
        let whole = self.cache.whole().map(|(_, object)| object.bytes());
        whole.fold((0, 0), |(count, all), bytes| (count + 1, all + bytes))
    }
    /// How full its tables are.
    #[must_use]
    pub fn load(&self) -> Load {
        let (publishers, deadlines) = (self.logs.len(), self.give_ups.len());
        Load { publishers, deadlines, requests: self.repairer.len(), relays: self.relay.len() }
    }
    /// Counters.
    #[must_use]
    pub fn stats(&self) -> GroupStats {
        GroupStats {
            origins_dropped: self.requester.dropped(),
            relays_dropped: self.relay.dropped(),
            standings_dropped: self.holders.dropped(),
            tags_dropped: self.publisher.tags_dropped(),
            ..self.stats
        }
    }
    /// Counters of the session, with what this node sends beside it.
    #[must_use]
    pub fn session_stats(&self) -> fanfare_proto::Stats {
        let mut stats = self.session.stats();
        let GroupStats { repair_frames_sent, compact_frames_sent, states_sent, .. } = self.stats;
        let GroupStats { repair_bytes_sent, compact_bytes_sent, state_bytes_sent, .. } = self.stats;
        let GroupStats { notes_sent, note_bytes_sent, .. } = self.stats;
        stats.datagrams_sent += repair_frames_sent + compact_frames_sent + states_sent + notes_sent;
        stats.bytes_sent +=
            repair_bytes_sent + compact_bytes_sent + state_bytes_sent + note_bytes_sent;
        stats.bytes_sent = stats.bytes_sent.saturating_sub(self.spared);
        stats
    }
    /// The next thing the driver should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        // A history of everything is rare, and its room is not kept for the next.
        if event.is_none() && self.events.capacity() > EVENTS_ROOM {
            self.events = VecDeque::new();
        }
        event
    }

    /// The latest time that it was told.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// A late clock counts as the last one seen.
    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// This node's own instance.
    fn own_incarnation(&self) -> Incarnation {
        (self.session.node_id(), self.fields.instance_id)
    }

    /// The instance that a node is in, this one among them.
    fn life_of(&mut self, node: NodeId) -> Option<Incarnation> {
        match node == self.session.node_id() {
            true => Some(self.own_incarnation()),
            false => self.session.receiver().incarnation(node),
        }
    }

    /// What is told of the instance that a node is in.
    fn summary_of(&mut self, node: NodeId) -> Option<SenderSummary> {
        let incarnation = self.life_of(node)?;
        self.summary(incarnation)
    }

    /// Whether a publisher is in another instance by now: of this one only others have something to give.
    fn is_past(&mut self, incarnation: Incarnation) -> bool {
        self.life_of(incarnation.0).is_some_and(|current| current != incarnation)
    }

    /// What is told of an instance of an origin, this node itself among them.
    fn summary(&mut self, incarnation: Incarnation) -> Option<SenderSummary> {
        let (sender, instance) = incarnation;
        if sender != self.session.node_id() {
            return self.session.receiver().summary(incarnation);
        }
        let newest = id_of(self.logs.get(&incarnation)?.newest());
        let grtt = self.session.sender().grtt();
        let grtt = QuantizedRtt::from_nanos(grtt.as_nanos() as u64);
        let SenderFields { backoff, gsize, .. } = self.fields;
        let fec_id = self.fec.id;
        Some(SenderSummary { sender, instance, grtt, backoff, gsize, fec_id, newest })
    }

    /// How a publisher was timed in an instance.
    fn timing_in(&mut self, incarnation: Incarnation) -> OriginTiming {
        let summary = self.session.receiver().summary(incarnation);
        timing_of(summary, self.members.len())
    }

    fn timing_of(&self, grtt: QuantizedRtt, backoff: u8, gsize: GroupSize) -> OriginTiming {
        timing(self.members.len(), grtt, backoff, gsize)
    }
}

/// Of an instance that is not in view any more nothing is sent; the times do not matter then.
fn timing_of(summary: Option<SenderSummary>, members: usize) -> OriginTiming {
    summary.map_or_else(OriginTiming::default, |r| timing(members, r.grtt, r.backoff, r.gsize))
}

/// At least those heard of may want to speak.
fn timing(members: usize, grtt: QuantizedRtt, backoff: u8, gsize: GroupSize) -> OriginTiming {
    let grtt = Duration::from_nanos(grtt.to_nanos()).min(GRTT_MAX);
    let members = u32::try_from(members).unwrap_or(u32::MAX);
    OriginTiming { grtt, backoff, group: gsize.to_receivers().max(members), members }
}

/// What frames begin with where there is no sender: plain NORM nodes read GRTT and the like.
fn own_fields(session: &SessionConfig) -> SenderFields {
    let defaults = fanfare_proto::SenderConfig::default();
    let sender = session.sender.as_ref().unwrap_or(&defaults);
    SenderFields {
        sequence: Sequence(0),
        source_id: session.node_id,
        instance_id: InstanceId(sender.instance_id.0),
        grtt: QuantizedRtt::from_nanos(sender.grtt_initial.as_nanos() as u64),
        backoff: sender.backoff_factor,
        gsize: GroupSize::from_receivers(sender.group_size),
    }
}

/// Keys of what a machine gave back, told to the driver.
fn release(events: &mut VecDeque<Event>, gone: Vec<ObjectKey>) {
    events.extend(gone.into_iter().map(|key| Event::Released { key }));
}
