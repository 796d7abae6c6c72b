//! The machine: what a node knows goes in, notes for others come out.

use alloc::{collections::VecDeque, string::String, vec::Vec};

use fanfare_wire::NodeId;
use fanfare_wire::units::{Bitrate, Duration, Rng, Time};

use crate::monitor::{
    facts::{Block, Facts, encode_name},
    note::{HEADER, Note, Told},
    share::{
        hearing::Hearing,
        interval::{Budget, jittered},
        rank::{Candidate, choose},
    },
    world::{Merged, World},
};

/// IP and UDP, the NORM_REPORT that carries a frame, and the frame's own header: what a note costs beside
/// its content.
const HEADERS: usize = 28 + 8 + 2;
/// Something has changed lately: within this time.
const LATELY: Duration = Duration::from_secs(10);
/// A name is said with every eighth note, and to who is new.
const NAME_TURNS: u8 = 8;
/// Each mean of sizes is over so many notes.
const MEAN_OVER: f64 = 8.0;
/// Before the first note: what one usually has.
const USUAL: f64 = 66.0;
const EVENTS_MAX: usize = 1024;

/// How a monitor behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The share of the channel for all notes of all nodes, in thousandths.
    pub per_mille: u16,
    /// What the channel carries.
    pub capacity: Bitrate,
    /// Bytes of a note at most.
    pub note_max: usize,
    /// It passes on what others lack.
    pub relays: bool,
}

impl Default for Config {
    fn default() -> Self {
        // Two percent is less than half of what RTCP takes. A note beyond 160 bytes blocks a slow radio.
        Self { per_mille: 20, capacity: Bitrate::kbps(100), note_max: 160, relays: true }
    }
}

/// Something that somebody may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A node is known now.
    Up(NodeId),
    /// Nothing was heard of it for longer than it is silent as a rule.
    Silent(NodeId),
    /// It is forgotten.
    Gone(NodeId),
}

/// What was done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Notes said.
    pub notes_sent: u64,
    /// Their bytes on the air, with all headers.
    pub bytes_sent: u64,
    /// Sectors of others in them.
    pub relayed: u64,
    /// Notes heard.
    pub notes_heard: u64,
    /// Notes that could not be read.
    pub notes_refused: u64,
    /// Sectors and events that found no room.
    pub dropped: u64,
}

/// A monitor.
#[derive(Debug)]
pub struct Monitor {
    config: Config,
    own: NodeId,
    rng: Rng,
    world: World,
    hearing: Hearing,
    /// What was told of this node last.
    told: Facts,
    turn: u8,
    last: Time,
    /// Drawn once for each interval.
    jitter: f64,
    due: Time,
    changed: Option<Time>,
    /// A node is new: it gets names.
    names_due: bool,
    mean: f64,
    silent: Vec<NodeId>,
    events: VecDeque<Event>,
    stats: Stats,
}

impl Monitor {
    /// Of node `own`, which is called `name`.
    #[must_use]
    pub fn new(config: Config, own: NodeId, name: &str, seed: u64, now: Time) -> Self {
        let mut rng = Rng::new(seed ^ 0x6d6f_6e69_746f_7200);
        let mut world = World::default();
        if !name.is_empty() {
            world.set_own(now, (own, Block::Name), encode_name(name));
        }
        // All that begin together must not speak together.
        let first = jittered(Duration::from_secs(1), &mut rng);
        Self {
            config,
            own,
            world,
            hearing: Hearing::default(),
            told: Facts::default(),
            turn: 0,
            last: now,
            jitter: rng.unit(),
            due: now.plus(first),
            changed: None,
            names_due: true,
            mean: USUAL,
            silent: Vec::new(),
            events: VecDeque::new(),
            stats: Stats::default(),
            rng,
        }
    }

    /// What this node measures of itself.
    pub fn set_facts(&mut self, now: Time, facts: Facts) {
        let steadied = facts.steadied(&self.told);
        if self.world.set_own(now, (self.own, Block::Node), steadied.encode()) {
            self.told = steadied;
            self.changed = Some(now);
        }
    }

    /// Who hears whom, as announcements tell.
    pub fn set_hearing(&mut self, hearing: Hearing) {
        self.hearing = hearing;
    }

    /// What others call this node.
    pub fn set_name(&mut self, now: Time, name: &str) {
        if !name.is_empty() {
            self.world.set_own(now, (self.own, Block::Name), encode_name(name));
            self.names_due = true;
        }
    }

    /// What the channel carries, as it is known by now.
    pub fn set_capacity(&mut self, capacity: Bitrate) {
        self.config.capacity = capacity;
    }

    /// Somebody said something.
    pub fn on_note(&mut self, now: Time, from: NodeId, bytes: &[u8]) {
        let Some(note) = Note::parse(from, bytes).filter(|_| from != self.own) else {
            self.stats.notes_refused += 1;
            return;
        };
        self.stats.notes_heard += 1;
        let own = self.own;
        for told in note.sectors.iter().filter(|told| told.subject != own) {
            match self.world.merge(now, from, note.next, told) {
                Merged::New if told.block == Block::Node => {
                    self.silent.retain(|node| *node != told.subject);
                    self.names_due = true;
                    self.changed = Some(now);
                    self.push(Event::Up(told.subject));
                }
                Merged::New | Merged::Changed | Merged::Same | Merged::Older => {}
                Merged::NoRoom => self.stats.dropped += 1,
            }
        }
    }

    /// Looks for nodes that are silent. Once a second is often enough: nobody is missed sooner than after three.
    pub fn handle_timeout(&mut self, now: Time) {
        let all = self.world.sectors().filter(|((_, block), _)| *block == Block::Node);
        let silent: Vec<NodeId> = all
            .filter(|((subject, _), known)| *subject != self.own && known.is_old(now))
            .map(|((subject, _), _)| *subject)
            .collect();
        for node in silent {
            if !self.silent.contains(&node) {
                self.silent.push(node);
                self.push(Event::Silent(node));
            }
        }
        for node in self.world.expire(now, self.own) {
            self.silent.retain(|other| *other != node);
            self.push(Event::Gone(node));
        }
    }

    /// When [`Self::poll_note`] has something to say.
    #[must_use]
    pub fn next_timeout(&self) -> Time {
        self.due
    }

    /// A note that may go now.
    pub fn poll_note(&mut self, now: Time) -> Option<Vec<u8>> {
        if now < self.due {
            return None;
        }
        // With as many as are known now (RFC 3550, 6.3.3): a crowd that joins at once is slowed down.
        let interval = self.interval(now);
        let due = self.last.plus(interval.mul_f64(0.5 + self.jitter));
        if now < due {
            self.due = due;
            return None;
        }
        let keys = self.choose(now, interval);
        let sectors: Vec<Told> = keys.iter().filter_map(|key| self.say(now, *key)).collect();
        self.stats.relayed += sectors.iter().filter(|told| told.subject != self.own).count() as u64;
        // The longest that the next one may take, when nothing changes any more.
        let next = self.mean_interval(now, false).mul_f64(1.5);
        let bytes = Note { turn: self.turn, next, sectors }.encode(self.own);
        let on_air = bytes.len() + HEADERS;
        self.mean += (on_air as f64 - self.mean) / MEAN_OVER;
        self.turn = self.turn.wrapping_add(1);
        self.names_due = false;
        self.jitter = self.rng.unit();
        self.last = now;
        self.due = now.plus(interval.mul_f64(0.5 + self.jitter));
        self.stats.notes_sent += 1;
        self.stats.bytes_sent += on_air as u64;
        Some(bytes)
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// This node.
    #[must_use]
    pub fn own(&self) -> NodeId {
        self.own
    }

    /// What is known.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Who hears whom.
    #[must_use]
    pub fn hearing(&self) -> &Hearing {
        &self.hearing
    }

    /// The name of a node, or its id.
    #[must_use]
    pub fn label(&self, node: NodeId) -> String {
        self.world.name(node).unwrap_or_else(|| alloc::format!("{node}"))
    }

    /// What was done so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats { dropped: self.stats.dropped + self.world.dropped, ..self.stats }
    }

    /// The mean interval between two notes of this node, as things are.
    #[must_use]
    pub fn interval(&self, now: Time) -> Duration {
        self.mean_interval(now, self.changed.is_some_and(|at| now.since(at) < LATELY))
    }

    fn mean_interval(&self, now: Time, changing: bool) -> Duration {
        let share = f64::from(self.config.per_mille) / 1000.0;
        let budget = Budget { capacity: self.config.capacity, share };
        budget.interval(self.heard_nodes(now), self.mean, changing)
    }

    /// Those who share the channel with this node: it hears them itself, and itself.
    fn heard_nodes(&self, now: Time) -> usize {
        let own = self.world.sectors().filter(|((_, block), _)| *block == Block::Node);
        own.filter(|(_, known)| known.hop == 0 && !known.is_old(now)).count().max(1)
    }

    fn choose(&self, now: Time, interval: Duration) -> Vec<(NodeId, Block)> {
        let says_names = self.names_due || self.turn.is_multiple_of(NAME_TURNS);
        let candidates = self.world.sectors().filter_map(|(key @ (subject, block), known)| {
            let own = *subject == self.own;
            let wanted = match block {
                Block::Name if own => says_names,
                _ if own => true,
                _ => self.config.relays && self.passes_on(*subject, known, now),
            };
            let told = Told {
                block: *block,
                subject: *subject,
                version: known.version,
                age: Duration::ZERO,
                hop: 0,
                closeness: 0,
                content: known.content.clone(),
            };
            let (changes, said) = (known.changes, known.said);
            // What is this node's own goes before what it passes on.
            let weight = block.weight() * if own { 4.0 } else { 1.0 };
            let bytes = told.len(self.own);
            wanted.then_some(Candidate { key: *key, weight, changes, said, bytes })
        });
        choose(candidates.collect(), self.config.note_max - HEADER, now, interval)
    }

    /// Whether somebody near lacks what is known of `subject`, and nobody was heard saying it.
    fn passes_on(&self, subject: NodeId, known: &crate::monitor::world::Known, now: Time) -> bool {
        let fresh = known.said.is_none_or(|said| known.heard > said);
        fresh
            && !known.passed_on
            && !known.is_old(now)
            && known.hop < 14
            && self.hearing.needs_relay(self.own, subject)
    }

    fn say(&mut self, now: Time, key: (NodeId, Block)) -> Option<Told> {
        let known = self.world.get_mut(&key)?;
        (known.said, known.changes) = (Some(now), 0);
        Some(Told {
            block: key.1,
            subject: key.0,
            version: known.version,
            age: known.age(now),
            hop: known.hop,
            closeness: known.closeness,
            content: known.content.clone(),
        })
    }

    fn push(&mut self, event: Event) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        } else {
            self.stats.dropped += 1;
        }
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
