//! How far a publisher may be ahead of its subscribers: no further than can be repaired. Others say
//! what they hold, the more often the faster it goes.

use std::collections::{BTreeMap, BTreeSet};

use fanfare_messaging::{OBJECTS_IN_VIEW, Standing};
use fanfare_proto::{Duration, NodeId, ObjectKey, Time};

/// Objects since the oldest that somebody lacks: fewer than can be repaired, so that none is gone before
/// others could say that they hold it.
const OBJECTS_MAX: usize = OBJECTS_IN_VIEW as usize * 3 / 4;
/// So many objects, or bytes, of which nothing is known are reason to ask.
const ASK_OBJECTS: usize = 256;
const ASK_BYTES: u64 = 256 << 10;
/// Not more often than that: an announcement of each member is the answer.
const ASK_EACH: Duration = Duration::from_millis(25);
/// Nobody has said anything new for so long: then nobody is waited for until somebody does.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct Lacked {
    key: ObjectKey,
    bytes: u64,
    settled: BTreeSet<NodeId>,
}

/// Messages that not everyone is known to hold.
#[derive(Debug)]
pub(crate) struct Flow {
    lacked: BTreeMap<u64, Lacked>,
    numbers: BTreeMap<ObjectKey, u64>,
    next: u64,
    bytes: u64,
    bytes_max: u64,
    /// Nodes that say what they hold.
    members: BTreeSet<NodeId>,
    heard: Time,
    asked: Time,
}

impl Flow {
    /// Up to `bytes_max` may be under way.
    pub(crate) fn new(now: Time, bytes_max: u64) -> Self {
        Self {
            lacked: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next: 0,
            bytes: 0,
            bytes_max,
            members: BTreeSet::new(),
            heard: now,
            asked: now,
        }
    }

    /// A message is on its way.
    pub(crate) fn on_published(&mut self, now: Time, key: ObjectKey, bytes: u64) {
        if self.lacked.is_empty() {
            self.heard = now;
        }
        self.on_gone(key);
        self.lacked.insert(self.next, Lacked { key, bytes, settled: BTreeSet::new() });
        self.numbers.insert(key, self.next);
        self.next += 1;
        self.bytes += bytes;
    }

    /// A node says how it stands to it.
    pub(crate) fn on_standing(&mut self, now: Time, key: ObjectKey, node: NodeId, what: Standing) {
        self.members.insert(node);
        let Some(number) = self.numbers.get(&key).copied() else { return };
        let Some(lacked) = self.lacked.get_mut(&number) else { return };
        if what == Standing::Lacks {
            return;
        }
        self.heard = now;
        lacked.settled.insert(node);
        if self.members.is_subset(&lacked.settled) {
            self.forget(number);
        }
    }

    /// A node has left: nobody waits for it.
    pub(crate) fn on_left(&mut self, node: NodeId) {
        self.members.remove(&node);
        let members = &self.members;
        let done =
            |lacked: &Lacked| !lacked.settled.is_empty() && members.is_subset(&lacked.settled);
        let done = self.lacked.iter().filter(|(_, lacked)| done(lacked));
        let done: Vec<u64> = done.map(|(number, _)| *number).collect();
        done.into_iter().for_each(|number| self.forget(number));
    }

    /// It can no longer be repaired.
    pub(crate) fn on_gone(&mut self, key: ObjectKey) {
        if let Some(number) = self.numbers.get(&key).copied() {
            self.forget(number);
        }
    }

    fn forget(&mut self, number: u64) {
        if let Some(lacked) = self.lacked.remove(&number) {
            self.numbers.remove(&lacked.key);
            self.bytes -= lacked.bytes;
        }
    }

    fn is_full(&self) -> bool {
        let oldest = self.lacked.first_key_value().map_or(self.next, |(number, _)| *number);
        (self.next - oldest) as usize >= OBJECTS_MAX || self.bytes >= self.bytes_max
    }

    /// Whether more may be published.
    pub(crate) fn has_room(&self, now: Time) -> bool {
        !self.is_full() || now.since(self.heard) >= PATIENCE
    }

    /// When it is no longer waited for, where it is full.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        match self.is_full() {
            true => Some((self.heard + PATIENCE).min(self.asked + ASK_EACH)),
            false => None,
        }
    }

    /// Whether others are to be asked now.
    pub(crate) fn poll_ask(&mut self, now: Time) -> bool {
        let asks = (self.lacked.len() >= ASK_OBJECTS || self.bytes >= ASK_BYTES)
            && now.since(self.asked) >= ASK_EACH
            && now.since(self.heard) < PATIENCE;
        if asks {
            self.asked = now;
        }
        asks
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, ObjectTransportId};

    use super::*;

    fn key(object: u16) -> ObjectKey {
        let object = ObjectTransportId(object);
        ObjectKey { sender: NodeId(7), instance: InstanceId(1), object }
    }
    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }
    /// So many messages of 1000 bytes are under way.
    fn flow(count: u16) -> Flow {
        let mut flow = Flow::new(at(0), 1_000_000);
        (0..count).for_each(|object| flow.on_published(at(0), key(object), 1_000));
        flow
    }
    fn hold(flow: &mut Flow, node: u32, count: u16) {
        for object in 0..count {
            flow.on_standing(at(1), key(object), NodeId(node), Standing::Holds);
        }
    }

    #[test]
    fn the_slowest_of_those_who_say_what_they_hold_decides() {
        let mut flow = flow(1_000);
        assert!(!flow.has_room(at(1)));
        flow.on_standing(at(1), key(999), NodeId(1), Standing::Lacks);
        flow.on_standing(at(1), key(999), NodeId(2), Standing::Lacks);
        hold(&mut flow, 1, 1_000);
        assert!(!flow.has_room(at(2)));
        hold(&mut flow, 2, 10);
        assert!(flow.has_room(at(2)) && flow.bytes == 990_000);
        flow.on_left(NodeId(2));
        assert!(flow.lacked.is_empty() && flow.numbers.is_empty() && flow.bytes == 0);
    }

    #[test]
    fn who_says_nothing_holds_nobody_up_for_ever() {
        let flow = flow(1_000);
        assert!(!flow.has_room(at(9_999)) && flow.has_room(at(10_000)));
        assert!(flow.next_timeout().is_some());
    }

    #[test]
    fn others_are_asked_where_much_is_under_way_and_not_all_the_time() {
        let mut flow = flow(300);
        assert!(flow.poll_ask(at(100)) && !flow.poll_ask(at(110)) && flow.poll_ask(at(125)));
        let mut little = self::flow(10);
        assert!(!little.poll_ask(at(100)));
    }
}
