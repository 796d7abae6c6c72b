//! Whose reports the rate follows.
//!
//! Without keys a receiver that nobody has, on an address of its own, cannot be told from a true one
//! on a slow line. Who knows by name whom it sends to need not care: then only those count.

use alloc::{collections::BTreeSet, vec::Vec};
use fanfare_wire::{NodeId, ext::CcFlags};

/// Nodes named; those beyond are not followed.
const MAX: usize = 4096;

/// So many of them are asked to answer a probe at once where nobody limits the rate yet.
const ASKED: usize = 4;

/// Everybody, or who was named.
#[derive(Debug, Default)]
pub(in crate::sender) enum Heeded {
    #[default]
    All,
    Named(BTreeSet<NodeId>),
}

impl Heeded {
    /// Only who is named from now on.
    pub(in crate::sender) fn only_named(&mut self) {
        if matches!(self, Self::All) {
            *self = Self::Named(BTreeSet::new());
        }
    }

    /// This one is named.
    pub(in crate::sender) fn name(&mut self, node: NodeId) {
        if let Self::Named(nodes) = self
            && nodes.len() < MAX
        {
            nodes.insert(node);
        }
    }

    pub(in crate::sender) fn has(&self, node: NodeId) -> bool {
        match self {
            Self::All => true,
            Self::Named(nodes) => nodes.contains(&node),
        }
    }

    /// Where reports of others do not count they must not silence those that do: a few who are named, in
    /// turn, are to answer at once.
    pub(in crate::sender) fn asked(&self, turn: u16) -> Vec<(NodeId, CcFlags)> {
        let Self::Named(nodes) = self else { return Vec::new() };
        let first = usize::from(turn) * ASKED % nodes.len().max(1);
        let round = nodes.iter().skip(first).chain(nodes.iter().take(first));
        round.take(ASKED).map(|node| (*node, CcFlags(CcFlags::PLR))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_counts_until_it_is_said_that_only_those_named_do() {
        let (one, other) = (NodeId(1), NodeId(2));
        let mut heeded = Heeded::default();
        heeded.name(one);
        assert!(heeded.has(one) && heeded.has(other));
        heeded.only_named();
        assert!(!heeded.has(one));
        heeded.name(one);
        heeded.only_named();
        assert!(heeded.has(one) && !heeded.has(other));
    }

    #[test]
    fn those_named_are_bounded() {
        let mut heeded = Heeded::default();
        heeded.only_named();
        (0..10_000).for_each(|n| heeded.name(NodeId(n)));
        assert!(heeded.has(NodeId(MAX as u32 - 1)) && !heeded.has(NodeId(MAX as u32)));
    }

    #[test]
    fn those_named_are_asked_in_turn_and_nobody_where_all_count() {
        let mut heeded = Heeded::default();
        assert!(heeded.asked(1).is_empty());
        heeded.only_named();
        assert!(heeded.asked(1).is_empty());
        (0..6).for_each(|n| heeded.name(NodeId(n)));
        let asked = |turn| heeded.asked(turn).iter().map(|(node, _)| node.0).collect::<Vec<_>>();
        assert_eq!((asked(0), asked(1)), ([0, 1, 2, 3].to_vec(), [4, 5, 0, 1].to_vec()));
    }
}
