//! Where a message was published first, and its identity in every group that it reaches.

use crate::message::{lru_map::LruMap, topic::Topic};
use fanfare_proto::{InstanceId, NodeId, RunSet};

/// Publishers' topics of which it is remembered what came: as many as nodes that a group knows.
const STREAMS_MAX: usize = 4096;
/// Runs of numbers remembered of each: so many holes there are in what is missing of one publisher
/// and topic after long losses; above that what came first is forgotten.
const RUNS_MAX: usize = 256;

/// The first publisher of a message that a gateway forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Who.
    pub node: NodeId,
    /// In which instance.
    pub instance: InstanceId,
    /// The publisher's count of its messages on the topic.
    pub number: u64,
    /// The number of gateways that it passed.
    pub hops: u8,
}

/// A message's identity in every group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Who published it first.
    pub node: NodeId,
    /// In which instance.
    pub instance: InstanceId,
    /// About what.
    pub topic: Topic,
    /// The publisher's count of its messages on that topic.
    pub number: u64,
}

type Stream = (NodeId, InstanceId, Topic);

/// A set of messages. Of each publisher and topic it keeps runs of numbers, so that what has come
/// without a gap costs nothing more.
#[derive(Debug)]
pub struct Known {
    streams: LruMap<Stream, RunSet>,
    /// Runs that were forgotten because there are too many.
    runs_forgotten: u64,
}

impl Default for Known {
    fn default() -> Self {
        Self { streams: LruMap::new(STREAMS_MAX), runs_forgotten: 0 }
    }
}

impl Known {
    fn stream(identity: &Identity) -> Stream {
        (identity.node, identity.instance, identity.topic.clone())
    }

    /// Whether it, and so many from it on, are all there.
    pub fn contains(&self, identity: &Identity, count: u64) -> bool {
        let (first, end) = (identity.number, identity.number.saturating_add(count));
        let numbers = self.streams.get(&Self::stream(identity));
        numbers.is_some_and(|numbers| numbers.gaps(first, end).next().is_none())
    }

    /// Adds it, and so many from it on; false when all are there already.
    pub fn insert(&mut self, identity: &Identity, count: u64) -> bool {
        let (first, end) = (identity.number, identity.number.saturating_add(count));
        let runs = self.streams.entry(&Self::stream(identity), RunSet::default);
        let new = runs.gaps(first, end).next().is_some();
        runs.insert(first, end);
        let first = runs.iter().next().filter(|_| runs.iter().count() > RUNS_MAX);
        if let Some((first, end)) = first {
            runs.remove(first, end);
            self.runs_forgotten += 1;
        }
        new
    }

    /// Publishers' topics, and runs, that were forgotten because there are too many.
    pub fn forgotten(&self) -> u64 {
        self.runs_forgotten + self.streams.forgotten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    fn message(node: u32, topic: &str, number: u64) -> Identity {
        let topic = Topic::new(topic).unwrap();
        Identity { node: NodeId(node), instance: InstanceId(1), topic, number }
    }

    #[test]
    fn a_message_is_new_once_whatever_comes_between() {
        let mut known = Known::default();
        assert!(known.insert(&message(1, "a", 0), 1) && known.insert(&message(2, "a", 0), 1));
        assert!(known.insert(&message(1, "b", 0), 1) && known.insert(&message(1, "a", 7), 1));
        assert!(!known.insert(&message(1, "a", 0), 1) && known.contains(&message(1, "a", 7), 1));
        assert!(!known.contains(&message(1, "a", 6), 1));
    }

    #[test]
    fn of_too_many_topics_the_one_that_was_used_least_lately_is_forgotten_and_counted() {
        let mut known = Known::default();
        for n in 0..STREAMS_MAX {
            known.insert(&message(1, &format!("t/{n}"), 0), 1);
        }
        known.insert(&message(1, "t/0", 1), 1);
        known.insert(&message(1, "one more", 0), 1);
        assert!(
            known.contains(&message(1, "t/0", 0), 1) && !known.contains(&message(1, "t/1", 0), 1)
        );
        let sizes = (known.streams.len(), known.forgotten());
        assert_eq!(sizes, (STREAMS_MAX, 1));
    }

    #[test]
    fn of_too_many_holes_the_first_are_forgotten() {
        let mut known = Known::default();
        (0..RUNS_MAX as u64 + 1).for_each(|n| {
            known.insert(&message(1, "a", 2 * n), 1);
        });
        assert!(!known.contains(&message(1, "a", 0), 1) && known.contains(&message(1, "a", 2), 1));
        assert_eq!(known.forgotten(), 1);
    }
}
