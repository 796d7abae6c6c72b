//! What is requested of blocks that were sent before, by who was not there; and too early, by who does
//! not know that others have overtaken.

use crate::sender::{
    block::BlockDemand, block_ranges::BlockRanges, demand::ObjectDemand, object::TransmitObject,
};
use fanfare_wire::SourceBlockNumber;

impl TransmitObject {
    /// Bytes requested of blocks that a pass has sent before and of which the asker has next to
    /// nothing.
    pub(in crate::sender) fn asked_again(&self, demand: &ObjectDemand) -> u64 {
        if self.on_demand {
            return 0;
        }
        let most = demand.symbols.iter().filter(|(block, wanted)| self.is_most(**block, wanted));
        let segments: u64 = most.map(|(_, wanted)| u64::from(wanted.need)).sum();
        segments * u64::from(self.partition.segment_size) + self.blocks_again(demand)
    }

    fn blocks_again(&self, demand: &ObjectDemand) -> u64 {
        let start = |block: u32| {
            if self.stream.is_some() {
                return self.partition.block_start(block.clamp(self.low(), self.cursor.0));
            }
            let span = self.partition.span(SourceBlockNumber(block.min(self.cursor.0)), 0);
            span.map_or(self.partition.object_size, |(offset, _)| offset)
        };
        match demand.whole {
            true => start(u32::MAX),
            false => demand.blocks.iter().map(|(first, end)| start(end) - start(first)).sum(),
        }
    }

    /// Whether more of `block` is requested than is there. A late joiner asks so of blocks of which
    /// it has seen others' repairs.
    fn is_most(&self, block: u32, wanted: &BlockDemand) -> bool {
        wanted.need > self.block_len(block) / 2
    }

    /// Takes out of `demand` what the first pass has yet to reach, where others may have overtaken: whoever
    /// has not read that they did asks for it. It comes without that.
    pub(in crate::sender) fn strip_unsent(&self, demand: &mut ObjectDemand) {
        if self.turn.is_none() || self.sent.is_some() {
            return;
        }
        let (block, symbol) = self.cursor;
        let end = block.saturating_add(u32::from(symbol > 0));
        if core::mem::take(&mut demand.whole) {
            demand.blocks.insert(0, end);
        }
        demand.blocks.remove_from(end);
        demand.symbols.retain(|block, _| *block < end);
    }

    /// Takes out of `demand` what [`Self::asked_again`] counts.
    pub(in crate::sender) fn strip_again(&self, demand: &mut ObjectDemand) {
        demand.whole = false;
        demand.blocks = BlockRanges::default();
        demand.symbols.retain(|block, wanted| !self.is_most(*block, wanted));
    }
}
