//! Whom the sender serves: everybody, but for those whom the application has put off or out.

use crate::time::{Duration, Time};
use alloc::collections::BTreeMap;
use fanfare_wire::NodeId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exception {
    /// Its requests wait until the others have been served.
    Deferred,
    /// Nothing it says counts any more.
    Evicted,
}

/// The exceptions; the application names each, so it bounds them.
#[derive(Debug, Default)]
pub(super) struct Service {
    exceptions: BTreeMap<NodeId, Exception>,
    /// Something was sent, or asked for by others, last.
    busy: Time,
    /// The others have been served: it is the turn of those put off.
    tail: bool,
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

    /// A first pass is to come: those put off wait again.
    pub(super) fn on_enqueued(&mut self) {
        self.tail = false;
    }

    /// Something was sent, or asked for by a receiver that is not put off.
    pub(super) fn on_busy(&mut self, now: Time) {
        self.busy = now;
    }

    /// Whether those put off are served now: the others have been silent for `cycle`, in which each
    /// could have asked. It stays so until the next first pass.
    pub(super) fn serves_tail(&mut self, now: Time, cycle: Duration) -> bool {
        self.tail |= now >= self.busy + cycle;
        self.tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_served_after_a_cycle_of_silence_until_the_next_first_pass() {
        let (mut service, cycle) = (Service::default(), Duration::from_millis(100));
        let at = |cycles: u32| Time::ZERO + cycle * cycles;
        service.on_busy(at(1));
        assert!(!service.serves_tail(at(1), cycle) && service.serves_tail(at(2), cycle));
        service.on_busy(at(2));
        assert!(service.serves_tail(at(2), cycle), "its own repairs do not end it");
        service.on_enqueued();
        assert!(!service.serves_tail(at(2), cycle));
    }

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
