//! Which other nodes have what this node published, as far as they announce it. So the publisher
//! knows when a message no longer depends on it, and who still lacks it.

use crate::occupancy::OBJECTS_IN_VIEW;
use alloc::{collections::BTreeMap, vec::Vec};
use fanfare_proto::{NodeId, ObjectKey, RunSet};

/// Messages watched at once: all that can be repaired, and those that have gone and of which that is not told yet.
const WATCHED_MAX: usize = 2 * OBJECTS_IN_VIEW as usize;
/// How nodes stand to them, in all: a thousand nodes to a thousand messages.
const STANDINGS_MAX: usize = 1 << 20;

/// Whether a node has a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It does not have all of it, and requests it.
    Lacks,
    /// It does not have all of it, and does not want it.
    Unwanted,
    /// It has all of it.
    Holds,
}

/// A node's claim about this node's messages.
#[derive(Debug)]
pub(crate) struct HoldingClaim {
    /// First object that it speaks of.
    pub(crate) first: u64,
    /// Objects that it holds.
    pub(crate) held: RunSet,
    /// Objects that it does not lack: held, or not wanted.
    pub(crate) settled: RunSet,
    /// Standing of what it holds: `Holds`, the messages that were published here; `Lacks`, others under their
    /// numbers; `None`, it has yet to say which.
    pub(crate) holding: Option<Standing>,
}

/// A message watched, and how each node that has announced since stands to it.
type Watched = (ObjectKey, BTreeMap<NodeId, Standing>);

/// Messages watched, by their object's number.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    watched: BTreeMap<u64, Watched>,
    standings: usize,
    dropped: u64,
}

impl Holders {
    /// From now on it is told who holds it.
    pub(crate) fn watch(&mut self, index: u64, key: ObjectKey) {
        match self.watched.len() < WATCHED_MAX {
            true => _ = self.watched.entry(index).or_insert((key, BTreeMap::new())),
            false => self.dropped += 1,
        }
    }

    /// Messages, and announcements of nodes, for which there was no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Whether any is watched.
    pub(crate) fn watches(&self) -> bool {
        !self.watched.is_empty()
    }

    /// It has left: nobody needs to know any more.
    pub(crate) fn forget(&mut self, index: u64) {
        let gone = self.watched.remove(&index);
        self.standings -= gone.map_or(0, |(_, nodes)| nodes.len());
    }

    /// A node has left.
    pub(crate) fn on_left(&mut self, node: NodeId) {
        for (_, nodes) in self.watched.values_mut() {
            self.standings -= usize::from(nodes.remove(&node).is_some());
        }
    }

    /// `node` announces, and may speak of ours. Gives what is new.
    pub(crate) fn on_state(
        &mut self,
        node: NodeId,
        asks: bool,
        told: Option<&HoldingClaim>,
    ) -> Vec<(ObjectKey, Standing)> {
        let mut new = Vec::new();
        let first = told.map_or(0, |told| told.first);
        for (index, (key, nodes)) in self.watched.range_mut(first..) {
            let before = nodes.get(&node).copied();
            let standing = match told {
                Some(told) if told.held.contains(*index) => {
                    let Some(standing) = told.holding else { continue };
                    standing
                }
                Some(told) if told.settled.contains(*index) => Standing::Unwanted,
                _ if !asks => Standing::Unwanted,
                // It may have had no room to speak of it.
                None => before.unwrap_or(Standing::Lacks),
                Some(_) => Standing::Lacks,
            };
            // What was held once could be had since; that it gave way again is not waited for.
            if before != Some(standing) && before != Some(Standing::Holds) {
                if before.is_none() && self.standings >= STANDINGS_MAX {
                    self.dropped += 1;
                    break;
                }
                self.standings += usize::from(nodes.insert(node, standing).is_none());
                new.push((*key, standing));
            }
        }
        new
    }

    /// Those among `members` that have not said of every message that they hold it or do not want
    /// it.
    pub(crate) fn unheard(&self, members: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
        let settled = |standing: Option<&Standing>| {
            matches!(standing, Some(Standing::Holds | Standing::Unwanted))
        };
        let waits =
            |node: &NodeId| self.watched.values().any(|(_, nodes)| !settled(nodes.get(node)));
        members.filter(waits).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_proto::{InstanceId, ObjectTransportId};

    fn key(object: u16) -> ObjectKey {
        let object = ObjectTransportId(object);
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object }
    }

    fn told(held: &[(u64, u64)], unwanted: &[(u64, u64)]) -> HoldingClaim {
        let (mut holds, mut settled) = (RunSet::default(), RunSet::default());
        held.iter().for_each(|(first, end)| holds.insert(*first, *end));
        held.iter().chain(unwanted).for_each(|(first, end)| settled.insert(*first, *end));
        HoldingClaim { first: 0, held: holds, settled, holding: Some(Standing::Holds) }
    }

    #[test]
    fn each_change_of_each_node_is_reported_once() {
        let mut holders = Holders::default();
        [3, 5].into_iter().for_each(|index| holders.watch(index, key(index as u16)));
        let (lacks, holds) = (Standing::Lacks, Standing::Holds);
        let some = told(&[(0, 4)], &[]);
        assert_eq!(
            holders.on_state(NodeId(7), true, Some(&some)),
            [(key(3), holds), (key(5), lacks)]
        );
        assert_eq!(holders.on_state(NodeId(7), true, Some(&some)), []);
        let other = told(&[(5, 6)], &[]);
        assert_eq!(holders.on_state(NodeId(7), true, Some(&other)), [(key(5), holds)]);
        holders.forget(3);
        assert_eq!(holders.on_state(NodeId(9), true, Some(&other)), [(key(5), holds)]);
    }

    #[test]
    fn nodes_that_left_are_dropped_and_the_number_of_states_is_bounded() {
        let mut holders = Holders::default();
        (0..WATCHED_MAX as u64).for_each(|index| holders.watch(index, key(index as u16)));
        let new: usize = (0..100).map(|n| holders.on_state(NodeId(n), true, None).len()).sum();
        assert_eq!((new, holders.standings), (STANDINGS_MAX, STANDINGS_MAX));
        assert_eq!(holders.dropped(), 36, "of 100 nodes 64 have room");
        (0..99).for_each(|n| holders.on_left(NodeId(n)));
        assert_eq!(holders.standings, 0);
        holders.on_state(NodeId(1), true, None);
        holders.forget(7);
        assert_eq!(holders.standings, WATCHED_MAX - 1);
    }

    #[test]
    fn a_short_announcement_changes_nothing_that_it_does_not_cover() {
        let mut holders = Holders::default();
        [3, 5].into_iter().for_each(|index| holders.watch(index, key(index as u16)));
        let told = HoldingClaim { first: 4, ..told(&[(4, 6)], &[]) };
        let new = holders.on_state(NodeId(7), true, Some(&told));
        assert_eq!(new, [(key(5), Standing::Holds)]);
        assert_eq!(holders.unheard([NodeId(7)].into_iter()), [NodeId(7)], "it is asked about 3");
    }

    #[test]
    fn who_holds_other_messages_under_these_numbers_is_asked_again() {
        let mut holders = Holders::default();
        [3, 5].into_iter().for_each(|index| holders.watch(index, key(index as u16)));
        let of_whom = |holding| HoldingClaim { holding, ..told(&[(0, 4)], &[]) };
        let lacks = |object| (key(object), Standing::Lacks);
        assert_eq!(holders.on_state(NodeId(7), true, Some(&of_whom(None))), [lacks(5)]);
        let of_another = of_whom(Some(Standing::Lacks));
        assert_eq!(holders.on_state(NodeId(7), true, Some(&of_another)), [lacks(3)]);
        assert_eq!(holders.unheard([NodeId(7)].into_iter()), [NodeId(7)]);
        let held = (key(3), Standing::Holds);
        assert_eq!(holders.on_state(NodeId(7), true, Some(&told(&[(0, 4)], &[]))), [held]);
    }

    #[test]
    fn a_node_that_does_not_want_a_message_is_not_a_holder() {
        let mut holders = Holders::default();
        holders.watch(3, key(3));
        let all = || (7..10).map(NodeId);
        assert_eq!(holders.unheard(all()).len(), 3);
        let unwanted = told(&[], &[(3, 4)]);
        let standing = [(key(3), Standing::Unwanted)];
        assert_eq!(holders.on_state(NodeId(7), true, Some(&unwanted)), standing);
        assert_eq!(holders.on_state(NodeId(8), false, None), standing);
        assert_eq!(holders.on_state(NodeId(9), true, None), [(key(3), Standing::Lacks)]);
        assert_eq!(holders.unheard(all()), [NodeId(9)]);
    }
}
