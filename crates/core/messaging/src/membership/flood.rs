//! How much has been said since the last announcement: who publishes fast needs word of it sooner, and
//! what that costs is little beside it.

use alloc::collections::BTreeMap;
use fanfare_proto::NodeId;

/// So many datagrams or bytes are much: they fill a second of 10 Mbit/s, and an announcement of each of
/// sixteen nodes is a thousandth of them.
const DATAGRAMS: u64 = 1_000;
const BYTES: u64 = 1 << 20;
/// For each so many nodes more that announce.
const NODES: u64 = 16;
/// Publishers that are counted, as many as are heard in view at once.
const PUBLISHERS_MAX: usize = 256;

/// What one has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Said {
    datagrams: u64,
    bytes: u64,
}

/// What each publisher has said since this node's last announcement.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    said: BTreeMap<NodeId, Said>,
}

impl Flood {
    /// So many datagrams of a publisher were heard, or sent.
    pub(crate) fn on_said(&mut self, publisher: NodeId, (datagrams, bytes): (u64, u64)) {
        if self.said.len() >= PUBLISHERS_MAX && !self.said.contains_key(&publisher) {
            return;
        }
        let said = self.said.entry(publisher).or_default();
        said.datagrams += datagrams;
        said.bytes += bytes;
    }

    /// This node announces itself.
    pub(crate) fn on_announced(&mut self) {
        self.said.clear();
    }

    /// Whether it has said much, among so many nodes.
    pub(crate) fn is_much(&self, publisher: NodeId, nodes: usize) -> bool {
        let times = 1 + nodes as u64 / NODES;
        self.said
            .get(&publisher)
            .is_some_and(|said| said.datagrams >= DATAGRAMS * times || said.bytes >= BYTES * times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_much_grows_with_the_number_of_those_who_would_answer() {
        let mut flood = Flood::default();
        flood.on_said(NodeId(1), (1_000, 100_000));
        assert!(flood.is_much(NodeId(1), 3) && !flood.is_much(NodeId(1), 16));
        assert!(!flood.is_much(NodeId(2), 3));
        flood.on_announced();
        assert!(!flood.is_much(NodeId(1), 3));
    }
}
