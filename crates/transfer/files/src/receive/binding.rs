//! Which sender a receiver is bound to, and where senders were heard.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
};

use fanfare_proto::NodeId;

/// Senders whose address is remembered.
const SOURCES_MAX: usize = 256;

/// Which sender this receiver is bound to.
#[derive(Debug, Default)]
pub(super) struct Binding {
    sources: BTreeMap<NodeId, SocketAddr>,
    pub(super) bound: bool,
    /// Senders that were refused.
    pub(super) refused: u64,
}

impl Binding {
    /// A sender was heard there.
    pub(super) fn on_sender(&mut self, sender: NodeId, source: SocketAddr) {
        if self.sources.len() < SOURCES_MAX || self.sources.contains_key(&sender) {
            self.sources.insert(sender, source);
        }
    }

    pub(super) fn source(&self, sender: NodeId) -> Option<SocketAddr> {
        self.sources.get(&sender).copied()
    }

    pub(super) fn address(&self, sender: NodeId) -> Option<IpAddr> {
        self.sources.get(&sender).map(|source| source.ip().to_canonical())
    }
}
