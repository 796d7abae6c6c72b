//! A set of nodes that is read often and changed rarely.

use alloc::vec::Vec;
use fanfare_proto::NodeId;

/// Nodes by their ids, side by side in memory: what one has and another not is one walk along both.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeSet(Vec<NodeId>);

impl NodeSet {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        self.0.binary_search(&node).is_ok()
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().copied()
    }
    pub(crate) fn insert(&mut self, node: NodeId) {
        if let Err(place) = self.0.binary_search(&node) {
            self.0.insert(place, node);
        }
    }
    pub(crate) fn remove(&mut self, node: NodeId) {
        if let Ok(place) = self.0.binary_search(&node) {
            self.0.remove(place);
        }
    }
    /// Those that are not in `others`.
    pub(crate) fn without(&self, others: &Self) -> impl Iterator<Item = NodeId> {
        let mut others = others.iter().peekable();
        self.iter().filter(move |node| {
            while others.next_if(|other| other < node).is_some() {}
            others.peek() != Some(node)
        })
    }
}

impl Extend<NodeId> for NodeSet {
    fn extend<I: IntoIterator<Item = NodeId>>(&mut self, nodes: I) {
        self.0.extend(nodes);
        self.0.sort_unstable();
        self.0.dedup();
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = Self::default();
        set.extend(nodes);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_proto::rng::Rng;

    fn set(nodes: &[u32]) -> NodeSet {
        nodes.iter().map(|node| NodeId(*node)).collect()
    }

    #[test]
    fn it_holds_each_once_in_whatever_order_they_came() {
        let mut nodes = set(&[7, 3, 7, 5]);
        nodes.insert(NodeId(4));
        nodes.insert(NodeId(3));
        nodes.insert(NodeId(6));
        [6, 8].into_iter().for_each(|node| nodes.remove(NodeId(node)));
        assert_eq!(nodes.iter().map(|node| node.0).collect::<Vec<_>>(), [3, 4, 5, 7]);
        assert!(nodes.contains(NodeId(5)) && !nodes.contains(NodeId(6)));
    }

    #[test]
    fn two_merged_sets_agree_with_single_lookups() {
        let mut rng = Rng::new(1);
        for _ in 0..200 {
            let mut draw = || -> NodeSet {
                let count = rng.below(12);
                (0..count).map(|_| NodeId(rng.below(16) as u32)).collect()
            };
            let (a, b) = (draw(), draw());
            let beside: Vec<NodeId> = a.iter().filter(|node| !b.contains(*node)).collect();
            assert_eq!(a.without(&b).collect::<Vec<_>>(), beside);
        }
    }
}
