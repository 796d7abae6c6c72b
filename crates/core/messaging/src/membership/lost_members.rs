//! Members that left without a good-bye and may come back.

use alloc::collections::BTreeMap;
use fanfare_proto::{Duration, NodeId, Time};

/// Nodes that went without a word, remembered at once: as soon as one of them is back, so are the others, most likely.
const LOST_MAX: usize = 64;

/// When each was last heard.
#[derive(Debug, Default)]
pub(crate) struct LostMembers {
    heard: BTreeMap<NodeId, Time>,
}

impl LostMembers {
    pub(crate) fn on_gone(&mut self, node: NodeId, heard: Time) {
        self.heard.insert(node, heard);
        if self.heard.len() > LOST_MAX {
            let longest = self.heard.iter().min_by_key(|(_, heard)| **heard).map(|(node, _)| *node);
            longest.map(|node| self.heard.remove(&node));
        }
    }

    pub(crate) fn on_back(&mut self, node: NodeId) {
        self.heard.remove(&node);
    }

    /// For how long the one has been gone that went last.
    pub(crate) fn absence(&self, now: Time) -> Option<Duration> {
        self.heard.values().max().map(|heard| now.since(*heard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_members_are_remembered_up_to_a_bound_the_latest_first() {
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let mut lost = LostMembers::default();
        (0..200).for_each(|node| lost.on_gone(NodeId(1000 - node), at(u64::from(node))));
        assert_eq!(lost.heard.len(), LOST_MAX);
        assert_eq!(lost.absence(at(1000)), Some(Duration::from_secs(801)));
        lost.on_back(NodeId(1000 - 199));
        assert_eq!(lost.absence(at(1000)), Some(Duration::from_secs(802)));
    }
}
