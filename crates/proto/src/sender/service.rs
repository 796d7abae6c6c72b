//! Whom the sender serves: everybody, but for those whom the application has put off or out.

use alloc::collections::BTreeMap;
use fanfare_wire::NodeId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exception {
    /// Its requests wait until the first pass is done.
    Deferred,
    /// Nothing it says counts any more.
    Evicted,
}

/// The exceptions; the application names each, so it bounds them.
#[derive(Debug, Default)]
pub(super) struct Service {
    exceptions: BTreeMap<NodeId, Exception>,
}

impl Service {
    /// Puts a node out, for good.
    pub(super) fn evict(&mut self, node: NodeId) {
        self.exceptions.insert(node, Exception::Evicted);
    }

    /// Puts a node off, or serves it as all others again.
    pub(super) fn defer(&mut self, node: NodeId, defer: bool) {
        match (self.exceptions.get(&node), defer) {
            (None, true) => {
                self.exceptions.insert(node, Exception::Deferred);
            }
            (Some(Exception::Deferred), false) => {
                self.exceptions.remove(&node);
            }
            _ => {}
        }
    }

    pub(super) fn is_evicted(&self, node: NodeId) -> bool {
        self.exceptions.get(&node) == Some(&Exception::Evicted)
    }

    pub(super) fn is_deferred(&self, node: NodeId) -> bool {
        self.exceptions.get(&node) == Some(&Exception::Deferred)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_put_off_may_come_back_but_not_who_is_put_out() {
        let mut service = Service::default();
        service.defer(NodeId(7), true);
        assert!(service.is_deferred(NodeId(7)) && !service.is_deferred(NodeId(8)));
        service.defer(NodeId(7), false);
        assert!(!service.is_deferred(NodeId(7)));
        service.evict(NodeId(7));
        service.defer(NodeId(7), true);
        service.defer(NodeId(7), false);
        assert!(service.is_evicted(NodeId(7)) && !service.is_deferred(NodeId(7)));
    }
}
