//! Who hears whom, and how well: from announcements of the group's nodes, which are said anyway.

use alloc::{collections::BTreeMap, vec::Vec};

use fanfare_wire::NodeId;

/// A share is told in so many steps.
pub(crate) const ALL: u8 = 7;
/// Fewer sevenths are no way on which to count.
const ENOUGH: u8 = 3;

/// For each node that is spoken of: who hears it, in sevenths.
#[derive(Debug, Clone, Default)]
pub struct Hearing {
    by: BTreeMap<NodeId, Vec<(NodeId, u8)>>,
}

impl Hearing {
    /// Of all pairs (who hears, whom, how many sevenths).
    pub fn of(pairs: impl IntoIterator<Item = (NodeId, NodeId, u8)>) -> Self {
        let mut by: BTreeMap<NodeId, Vec<(NodeId, u8)>> = BTreeMap::new();
        for (who, whom, sevenths) in pairs {
            by.entry(whom).or_default().push((who, sevenths.min(ALL)));
        }
        by.values_mut().for_each(|list| list.sort_unstable());
        Self { by }
    }

    /// Whether `who` hears enough of `whom`.
    pub(crate) fn hears(&self, who: NodeId, whom: NodeId) -> bool {
        let Some(by) = self.by.get(&whom) else { return false };
        let place = by.binary_search_by_key(&who, |(node, _)| *node);
        place.is_ok_and(|at| by[at].1 >= ENOUGH)
    }

    /// All pairs: who hears, whom, how many sevenths.
    pub fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId, u8)> + '_ {
        self.by
            .iter()
            .flat_map(|(whom, by)| by.iter().map(|(who, sevenths)| (*who, *whom, *sevenths)))
    }

    /// How many hear enough of a node.
    #[must_use]
    pub fn count(&self, whom: NodeId) -> usize {
        let by = self.by.get(&whom).into_iter().flatten();
        by.filter(|(_, sevenths)| *sevenths >= ENOUGH).count()
    }

    /// Whether `own` should pass on what `writer` says: somebody hears `own` and not the writer.
    pub(crate) fn needs_relay(&self, own: NodeId, writer: NodeId) -> bool {
        let hearers = self.by.get(&own).into_iter().flatten();
        let mut near = hearers.filter(|(_, sevenths)| *sevenths >= ENOUGH).map(|(node, _)| *node);
        near.any(|node| node != writer && !self.hears(node, writer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_one_of_a_chain_passes_on_and_the_ends_do_not() {
        let n = NodeId;
        let chain =
            [(n(1), n(2), 7), (n(2), n(1), 7), (n(2), n(3), 7), (n(3), n(2), 7), (n(3), n(1), 1)];
        let hearing = Hearing::of(chain);
        assert!(hearing.needs_relay(n(2), n(1)), "3 does not hear 1 well enough");
        assert!(!hearing.needs_relay(n(1), n(2)), "nobody but 2 hears 1");
        assert_eq!((hearing.count(n(2)), hearing.count(n(1))), (2, 1));
    }

    #[test]
    fn where_all_hear_all_nobody_passes_on() {
        let pairs = (1..6).flat_map(|a| (1..6).map(move |b| (NodeId(a), NodeId(b), ALL)));
        let mesh = Hearing::of(pairs.filter(|(a, b, _)| a != b));
        assert!((1..6).all(|a| (1..6).all(|b| !mesh.needs_relay(NodeId(a), NodeId(b)))));
    }
}
