//! Who else holds what this node has published, as far as others announce it: the publisher then
//! knows that the message outlives it.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use fanfare_proto::{NodeId, ObjectKey, RunSet};

/// Messages watched at once; of more than that nothing is told.
const WATCHED_MAX: usize = 4096;

/// Messages watched, by their object's number, and who has said that it holds them.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    watched: BTreeMap<u64, (ObjectKey, BTreeSet<NodeId>)>,
}

impl Holders {
    /// From now on it is told who holds it.
    pub(crate) fn watch(&mut self, index: u64, key: ObjectKey) {
        if self.watched.len() < WATCHED_MAX {
            self.watched.entry(index).or_insert((key, BTreeSet::new()));
        }
    }

    /// It has left: nobody needs to know any more.
    pub(crate) fn forget(&mut self, index: u64) {
        self.watched.remove(&index);
    }

    /// `node` says what it holds. Gives the messages of which it had not said so before.
    pub(crate) fn on_holding(&mut self, node: NodeId, held: &RunSet) -> Vec<ObjectKey> {
        let mut new = Vec::new();
        for (first, end) in held.iter() {
            for (_, (key, nodes)) in self.watched.range_mut(first..end) {
                if nodes.insert(node) {
                    new.push(*key);
                }
            }
        }
        new
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

    #[test]
    fn each_holder_of_a_watched_message_is_told_once() {
        let mut holders = Holders::default();
        [3, 5].into_iter().for_each(|index| holders.watch(index, key(index as u16)));
        let mut held = RunSet::default();
        held.insert(0, 4);
        assert_eq!(holders.on_holding(NodeId(7), &held), [key(3)]);
        held.insert(5, 6);
        assert_eq!(holders.on_holding(NodeId(7), &held), [key(5)]);
        assert_eq!(holders.on_holding(NodeId(8), &held), [key(3), key(5)]);
        holders.forget(3);
        assert_eq!(holders.on_holding(NodeId(9), &held), [key(5)]);
    }
}
