//! Forwards short messages without a request, to nodes that do not hear the sender, in groups whose
//! radio does not reach every node.
//!
//! Announcements say how many of each other's messages arrive. A node that gets a new message, and
//! that is heard by a node that does not hear the sender, forwards it when its turn comes and if it
//! is still worth it (`coverage`). Nodes with the highest gain go first (scalable broadcast, Peng
//! and Lu 2000). In a group in which all nodes hear each other, nobody forwards.

use crate::repair::repairer::OriginTiming;
use alloc::{collections::BTreeMap, vec::Vec};
use fanfare_proto::{NodeId, ObjectKey, Time, rng::Rng};

/// Nodes heard to send one message that are reckoned with.
const SENDERS_MAX: usize = 32;
/// Messages that wait to be forwarded, at most; others are left to requests.
const WAITING_MAX: usize = 1024;

#[derive(Debug)]
struct Waiting {
    due: Time,
    /// Who was heard to send it, its publisher among them.
    senders: Vec<NodeId>,
}

/// The machine.
#[derive(Debug, Default)]
pub(crate) struct Relay {
    waiting: BTreeMap<ObjectKey, Waiting>,
    dropped: u64,
}

/// Of those who could pass a message on that these were heard to send: how many come before this node;
/// `None`: it need not.
pub(crate) type Coverage<'a> = &'a dyn Fn(&[NodeId]) -> Option<u32>;

impl Relay {
    /// A message is new here, from one of these nodes, its publisher among them.
    pub(crate) fn on_new(
        &mut self,
        now: Time,
        (key, senders): (ObjectKey, Vec<NodeId>),
        coverage: Coverage<'_>,
        chance: (OriginTiming, &mut Rng),
    ) {
        if self.waiting.len() >= WAITING_MAX {
            self.dropped += 1;
        } else if let Some(before) = coverage(&senders) {
            let due = turn(now, before, chance);
            self.waiting.insert(key, Waiting { due, senders });
        }
    }

    /// Somebody sends it again: whoever hears that node is likely to have it now, and those who reach most of the
    /// others come first.
    pub(crate) fn on_again(
        &mut self,
        now: Time,
        (key, sender): (ObjectKey, NodeId),
        coverage: Coverage<'_>,
        chance: (OriginTiming, &mut Rng),
    ) {
        let Some(waiting) = self.waiting.get_mut(&key) else { return };
        if waiting.senders.contains(&sender) {
            return;
        }
        // So many have sent it that it need not go.
        if waiting.senders.len() >= SENDERS_MAX {
            return self.forget(key);
        }
        waiting.senders.push(sender);
        match coverage(&waiting.senders) {
            Some(before) => waiting.due = turn(now, before, chance),
            None => self.forget(key),
        }
    }

    /// A message to be forwarded now.
    pub(crate) fn due(&self, now: Time) -> Option<ObjectKey> {
        self.waiting.iter().find(|(_, waiting)| waiting.due <= now).map(|(key, _)| *key)
    }

    /// It has been forwarded, or is no longer here.
    pub(crate) fn forget(&mut self, key: ObjectKey) {
        self.waiting.remove(&key);
    }

    /// Messages for which there was no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Messages that wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.waiting.values().map(|waiting| waiting.due).min()
    }
}

/// When it is the turn of who has so many before it. A turn is a GRTT: who comes before is heard by then, also from behind
/// what is before it in queues. Half as long leaves 4 % more to be forwarded (`company`).
fn turn(now: Time, rank: u32, (timing, rng): (OriginTiming, &mut Rng)) -> Time {
    let turn = timing.grtt;
    now + turn * rank + turn.mul_f64(rng.unit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_proto::{Duration, InstanceId, ObjectTransportId};

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(0) };
    const TIMING: OriginTiming =
        OriginTiming { grtt: Duration::from_millis(100), backoff: 4, group: 10, members: 10 };

    /// After node 1 was heard to send it.
    fn heard(before: Option<u32>) -> (Relay, Rng) {
        let (mut relay, mut rng) = (Relay::default(), Rng::new(1));
        let from = Vec::from([NodeId(1)]);
        relay.on_new(Time::ZERO, (KEY, from), &|_| before, (TIMING, &mut rng));
        (relay, rng)
    }

    #[test]
    fn the_first_node_forwards_first_and_an_unneeded_one_does_not() {
        let due = |before| heard(before).0.next_timeout();
        assert!(due(Some(0)).unwrap() <= Time::ZERO + TIMING.grtt);
        assert!(due(Some(3)).unwrap() >= Time::ZERO + TIMING.grtt * 3);
        assert_eq!(due(None), None);
    }

    #[test]
    fn the_gain_is_computed_again_after_others_have_forwarded() {
        let (mut relay, mut rng) = heard(Some(5));
        let before = relay.next_timeout();
        let coverage = |senders: &[NodeId]| (senders.len() < 3).then_some(0);
        relay.on_again(Time::ZERO, (KEY, NodeId(2)), &coverage, (TIMING, &mut rng));
        assert!(relay.next_timeout() < before, "nobody is before it now");
        relay.on_again(Time::ZERO, (KEY, NodeId(2)), &|_| None, (TIMING, &mut rng));
        assert!(relay.next_timeout().is_some(), "it was reckoned with");
        relay.on_again(Time::ZERO, (KEY, NodeId(3)), &coverage, (TIMING, &mut rng));
        assert_eq!((relay.due(Time::FAR_FUTURE), relay.next_timeout()), (None, None));
    }

    #[test]
    fn a_waiting_message_is_due_at_its_time_until_it_was_forwarded() {
        let (mut relay, _) = heard(Some(0));
        let due = relay.next_timeout().unwrap();
        assert_eq!((relay.due(Time::ZERO), relay.due(due)), (None, Some(KEY)));
        relay.forget(KEY);
        assert_eq!(relay.due(due), None);
    }
}
