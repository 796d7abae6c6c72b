//! Cover for short objects that somebody waits for ([`FirstPass::Awaited`]).
//!
//! An application asks something, and waits for the answer. When a message of either is lost, a round
//! trip passes before it comes again. Where the line is idle anyway, one message more costs nobody
//! anything: a copy of an object of one symbol, parity of a longer one. It goes when nothing else is to
//! be sent, and no later than a request for repair could have come.
//!
//! [`FirstPass::Awaited`]: crate::enqueue::FirstPass::Awaited

use crate::sender::{Sender, block::BlockDemand, worth::parity_worth};
use alloc::vec::Vec;
use fanfare_wire::NodeId;

/// Time on an idle line costs so much less than time on a full one, where others wait for it.
const IDLE: f64 = 3.0;

impl Sender {
    /// The first pass over an object has ended.
    pub(in crate::sender) fn on_passed(&mut self, ordinal: u64) {
        match self.cache.get(ordinal).is_some_and(|object| object.awaited) {
            true => self.cover.on_passed(self.now, ordinal),
            false => self.send_tail(ordinal),
        }
    }

    /// Whether something is to be covered when nothing else is to be sent.
    pub(in crate::sender) fn has_cover(&self) -> bool {
        self.cover.is_waiting(self.now, self.grtt())
    }

    /// Nothing else is to be sent: cover for the next object that waits for it.
    pub(in crate::sender) fn begin_cover(&mut self) {
        if self.cache.has_new() || self.cache.has_repair() {
            return;
        }
        while let Some(ordinal) = self.cover.next(self.now, self.grtt()) {
            if self.cover(ordinal) {
                return;
            }
        }
    }

    /// Whether there is something to send for it.
    fn cover(&mut self, ordinal: u64) -> bool {
        if !self.is_small_group() || self.coding.parity == 0 {
            return false;
        }
        let Some(object) = self.cache.get(ordinal).filter(|object| object.stream.is_none()) else {
            return false;
        };
        let lens = (0..object.partition.blocks).map(|block| object.block_len(block));
        let lens: Vec<u16> = lens.collect();
        let segment = u64::from(object.told_segment()).max(1);
        // A copy of the only symbol is as short as that.
        let bytes = object.size().min(segment);
        let losses = self.losses();
        let time = self.message_time().mul_f64(bytes as f64 / segment as f64).as_secs_f64();
        let worth = IDLE * self.grtt().as_secs_f64() / time.max(f64::MIN_POSITIVE);
        let rate = self.controller.rate();
        let mut begun = false;
        for (block, len) in (0..).zip(lens) {
            let need = parity_worth(len, &losses, worth, self.coding.parity);
            if need == 0 || !self.cover.takes(self.now, rate, bytes * u64::from(need)) {
                continue;
            }
            let wanted = match len {
                1 => BlockDemand::named(0..1),
                _ => BlockDemand { need, ..BlockDemand::default() },
            };
            if let Some(object) = self.cache.get_mut(ordinal) {
                begun |= object.cover(block, &wanted, &self.coding);
            }
        }
        self.cache.refresh(ordinal);
        begun
    }

    /// What each receiver that is served loses.
    fn losses(&self) -> Vec<f64> {
        let served = |node: &NodeId| !self.slow.is_deferred(*node) && !self.slow.is_evicted(*node);
        let loss = |node| self.cover.loss().unwrap_or_else(|| self.loss(node));
        self.receivers.nodes().filter(served).map(loss).collect()
    }
}
