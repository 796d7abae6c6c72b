//! Slow receivers that the application has deferred or evicted. The sender serves all others.

use crate::time::{Duration, Time};
use alloc::collections::{BTreeMap, BTreeSet};
use fanfare_wire::NodeId;

/// Receivers remembered that lack much of what was sent before: with more, the others are waited for.
const LACKING_MAX: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Treatment {
    /// Its requests wait until the others have been served.
    Deferred,
    /// Nothing it says counts any more.
    Evicted,
}

/// The exceptions; the application names each, so it bounds them.
#[derive(Debug, Default)]
pub(in crate::sender) struct SlowReceivers {
    treatments: BTreeMap<NodeId, Treatment>,
    /// Something was sent, or requested by others, last.
    busy: Time,
    /// The others have been served: it is the turn of those put off.
    tail: bool,
    /// Receivers whose last request was put off: they lack much of what was sent before.
    lacking: BTreeSet<NodeId>,
}

impl SlowReceivers {
    /// Puts a node out, for good.
    pub(in crate::sender) fn evict(&mut self, node: NodeId) {
        self.treatments.insert(node, Treatment::Evicted);
    }

    /// Puts a node off, or serves it as all others again.
    pub(in crate::sender) fn defer(&mut self, node: NodeId, defer: bool) {
        match (self.treatments.get(&node), defer) {
            (None, true) => {
                self.treatments.insert(node, Treatment::Deferred);
            }
            (Some(Treatment::Deferred), false) => {
                self.treatments.remove(&node);
            }
            _ => {}
        }
    }

    pub(in crate::sender) fn is_evicted(&self, node: NodeId) -> bool {
        self.treatments.get(&node) == Some(&Treatment::Evicted)
    }

    pub(in crate::sender) fn is_deferred(&self, node: NodeId) -> bool {
        self.treatments.get(&node) == Some(&Treatment::Deferred)
    }

    /// Tells whether what it says is of the present.
    pub(in crate::sender) fn counts(&self, node: NodeId) -> bool {
        !self.treatments.contains_key(&node)
    }

    /// A first pass is to come: those put off wait again.
    pub(in crate::sender) fn on_enqueued(&mut self) {
        self.tail = false;
        self.lacking.clear();
    }

    /// A receiver has asked, and is put off or not.
    pub(in crate::sender) fn on_asked(&mut self, node: NodeId, put_off: bool) {
        if !put_off {
            self.lacking.remove(&node);
        } else if self.lacking.len() < LACKING_MAX {
            self.lacking.insert(node);
        }
    }

    /// Tells whether the last request of this receiver was put off.
    pub(in crate::sender) fn lacks_much(&self, node: NodeId) -> bool {
        self.lacking.contains(&node)
    }

    /// Something was sent, or requested by a receiver that is not put off.
    pub(in crate::sender) fn on_busy(&mut self, now: Time) {
        self.busy = now;
    }

    /// Lets those put off be put off again.
    pub(in crate::sender) fn end_tail(&mut self) {
        self.tail = false;
    }

    /// Tells whether it is the turn of those put off.
    pub(in crate::sender) fn is_tail(&self) -> bool {
        self.tail
    }

    /// Whether those put off are served now: the others have been silent for `cycle`, in which each
    /// could have asked. It stays so until the next first pass.
    pub(in crate::sender) fn serves_tail(&mut self, now: Time, cycle: Duration) -> bool {
        self.tail |= now >= self.busy + cycle;
        self.tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deferred_receivers_are_served_after_a_silent_cycle_until_the_next_first_pass() {
        let (mut slow, cycle) = (SlowReceivers::default(), Duration::from_millis(100));
        let at = |cycles: u32| Time::ZERO + cycle * cycles;
        slow.on_busy(at(1));
        assert!(!slow.serves_tail(at(1), cycle) && slow.serves_tail(at(2), cycle));
        slow.on_busy(at(2));
        assert!(slow.serves_tail(at(2), cycle), "its own repairs do not end it");
        slow.on_enqueued();
        assert!(!slow.serves_tail(at(2), cycle));
    }

    #[test]
    fn a_deferred_receiver_can_be_restored_but_an_evicted_one_cannot() {
        let mut slow = SlowReceivers::default();
        slow.defer(NodeId(7), true);
        assert!(slow.is_deferred(NodeId(7)) && !slow.is_deferred(NodeId(8)));
        slow.defer(NodeId(7), false);
        assert!(!slow.is_deferred(NodeId(7)));
        slow.evict(NodeId(7));
        slow.defer(NodeId(7), true);
        slow.defer(NodeId(7), false);
        assert!(slow.is_evicted(NodeId(7)) && !slow.is_deferred(NodeId(7)));
    }
}
