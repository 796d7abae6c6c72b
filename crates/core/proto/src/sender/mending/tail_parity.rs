//! Parity for the last blocks of a transfer, sent before anyone can have requested it.
//!
//! A request takes a round trip and a backoff to arrive. In the middle of a transfer other data
//! fills that time. At the end the sender would be idle, and each round of repair can be lost and
//! must be repeated. So the sender adds parity to the blocks that nobody can have reported on yet.
//! How much depends on the known packet loss, and on the time that it is likely to save.

use crate::sender::{Sender, block::BlockDemand, demand::ObjectDemand, worth::parity_worth};
use alloc::vec::Vec;
use fanfare_wire::NodeId;

/// Most parity reckoned with for a block, as a multiple of its length: beyond half, losses are no
/// longer of a kind that a guess helps.
const LOSS_MAX: f64 = 0.5;
/// Blocks at most: a bound on work, far beyond what a round trip holds.
const BLOCKS_MAX: usize = 1024;

impl Sender {
    /// The last first pass has ended: parity for the blocks that it sent in the last NACK cycle.
    pub(in crate::sender) fn send_tail(&mut self, ordinal: u64) {
        if !self.is_small_group() || self.cache.has_first_pass() || self.coding.parity == 0 {
            return;
        }
        let served = |node: &NodeId| !self.slow.is_deferred(*node) && !self.slow.is_evicted(*node);
        let losses: Vec<f64> =
            self.receivers.nodes().filter(served).map(|node| self.loss(node)).collect();
        let mut left = self.controller.rate().bytes_in(self.nack_cycle());
        let object = self.cache.get(ordinal).filter(|object| object.stream.is_none());
        let Some(object) = object else { return };
        let mut wanted = ObjectDemand::default();
        for block in (0..object.partition.blocks).rev().take(BLOCKS_MAX) {
            let len = object.block_len(block);
            let need = self.parity_worth(len, &losses);
            if need > 0 {
                wanted.symbols.insert(block, BlockDemand { need, ..BlockDemand::default() });
            }
            let bytes = u64::from(len) * u64::from(object.told_segment());
            let Some(rest) = left.checked_sub(bytes) else { break };
            left = rest;
        }
        if let Some(object) = self.cache.get_mut(ordinal) {
            object.demand_tail(&wanted, &self.coding);
            self.cache.refresh(ordinal);
        }
    }

    /// The share of messages that `node` loses, as far as it counts here.
    pub(in crate::sender) fn loss(&self, node: NodeId) -> f64 {
        (1.0 - self.receivers.share(node)).min(LOSS_MAX)
    }

    /// Whether what is requested now, and lost, can be requested again only when nothing else is to
    /// be sent: less than a NACK cycle of first passes is left, and objects do not follow one another.
    pub(in crate::sender) fn is_ending(&self) -> bool {
        let cycle = self.nack_cycle();
        !self.stream.is_ongoing(self.now, cycle)
            && self.cache.first_passes_end_within(self.controller.rate().bytes_in(cycle))
    }

    /// How many symbols more are worth their time where `len` must arrive.
    pub(in crate::sender) fn parity_worth(&self, len: u16, losses: &[f64]) -> u16 {
        // As a rule a round is a back-off and a round trip.
        let cycle = self.grtt() * (u32::from(self.backoff()) + 1);
        let message = self.message_time();
        let worth = cycle.as_secs_f64() / message.as_secs_f64().max(f64::MIN_POSITIVE);
        parity_worth(len, losses, worth, self.coding.parity)
    }
}
