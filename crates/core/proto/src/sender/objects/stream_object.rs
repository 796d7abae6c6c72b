//! What is different where an object is a stream: it has no end yet, its last block is unfinished, and
//! its first blocks go.

use crate::{
    partition::Partition,
    sender::{
        block::BlockDemand,
        coding::Coding,
        object::TransmitObject,
        stream::window::{SendStream, Standing},
    },
    storage::{ObjectKey, ObjectKind},
    stream::layout,
    time::{Duration, Time},
};
use alloc::{boxed::Box, collections::BTreeSet, vec::Vec};
use fanfare_wire::{EncodingSymbolId, FecPayloadId, STREAM_HEADER, SourceBlockNumber};

impl TransmitObject {
    /// A stream of which nothing was written.
    pub(in crate::sender) fn stream(
        now: Time,
        key: ObjectKey,
        partition: Partition,
        info: Option<Vec<u8>>,
        stream: Box<SendStream>,
    ) -> Self {
        let mut object = Self::new(now, key, ObjectKind::Stream, partition, info);
        object.stream = Some(stream);
        object
    }

    /// Proactive parity of the block before, or symbols that were packed.
    pub(super) fn has_new_of(&self, stream: &SendStream) -> bool {
        let (block, symbol) = self.cursor;
        symbol >= stream.block_len || stream.index(block, symbol) < stream.written
    }

    /// The lowest block that can be repaired.
    pub(in crate::sender) fn low(&self) -> u32 {
        self.stream.as_ref().map_or(0, |stream| stream.low)
    }

    /// What EXT_FTI says of its size: of a stream what can be repaired.
    pub(in crate::sender) fn told_size(&self) -> u64 {
        self.stream.as_ref().map_or(self.partition.object_size, |stream| stream.promised)
    }

    /// What EXT_FTI says of its segments: a stream's symbols have a header beside.
    pub(in crate::sender) fn told_segment(&self) -> u16 {
        let header = if self.stream.is_some() { STREAM_HEADER as u16 } else { 0 };
        self.partition.segment_size.saturating_sub(header)
    }

    /// Bytes of a source symbol on the wire, or of one of an object.
    pub(in crate::sender) fn symbol_len(&self, block: u32, symbol: u16) -> Option<(u64, usize)> {
        let (offset, bytes) = self.partition.span(SourceBlockNumber(block), symbol)?;
        let stream = self.stream.as_ref();
        Some((offset, stream.map_or(bytes, |s| s.len_of(s.index(block, symbol)))))
    }

    /// Bytes of the longest symbol of a stream's block.
    pub(in crate::sender) fn longest(&self, block: u32) -> Option<usize> {
        let stream = self.stream.as_ref()?;
        (0..stream.block_len).map(|symbol| stream.len_of(stream.index(block, symbol))).max()
    }

    /// The block that a number on the wire stands for.
    pub(in crate::sender) fn whole_number(&self, wire: u32, coding: &Coding) -> u32 {
        match self.stream {
            None => wire,
            Some(_) => layout::nearest(self.cursor.0, wire, coding.block_limit()),
        }
    }

    /// Blocks that have been sent, as far as they are named in requests.
    pub(in crate::sender) fn blocks_sent(&self) -> u32 {
        match self.stream {
            None => self.partition.blocks,
            Some(_) => self.cursor.0 + u32::from(self.cursor.1 > 0),
        }
    }

    /// The last symbol of an object, or the last that was sent of a stream. `None`: nothing was.
    pub(in crate::sender) fn last_sent(&self) -> Option<FecPayloadId> {
        match &self.stream {
            None => Some(self.partition.last()),
            Some(stream) => {
                let (block, symbol) = self.cursor;
                named(stream, stream.index(block, symbol))
            }
        }
    }

    /// The last symbol that may be sent, and how many there are up to it.
    pub(in crate::sender) fn packed_end(&self) -> Option<(FecPayloadId, u64)> {
        match &self.stream {
            None => Some((self.partition.last(), 0)),
            Some(stream) => Some((named(stream, stream.written)?, stream.written)),
        }
    }

    /// Whether the first `until` symbols were sent, and all that was requested of them.
    pub(in crate::sender) fn is_past_symbols(&self, until: u64) -> bool {
        let Some(stream) = &self.stream else { return false };
        let (block, symbol) = self.cursor;
        let last = until.saturating_sub(1) / u64::from(stream.block_len);
        let repaired = self.lowest_repair().is_none_or(|lowest| u64::from(lowest) > last);
        stream.index(block, symbol) >= until && repaired
    }

    fn lowest_repair(&self) -> Option<u32> {
        self.pending.first().copied().into_iter().chain(self.repeats.first()).min()
    }

    fn standing(&self) -> Standing {
        Standing { cursor: self.cursor.0, repair: self.lowest_repair() }
    }

    /// When a write that found no room may be tried again.
    pub(in crate::sender) fn writable_at(&self, quiet: Duration) -> Option<Time> {
        self.stream.as_ref()?.writable_at(self.standing(), quiet)
    }

    /// Makes a place for the symbol under way, if one may be made.
    pub(in crate::sender) fn make_place(&mut self, now: Time, quiet: Duration) -> bool {
        let standing = self.standing();
        let Some(stream) = self.stream.as_mut().filter(|stream| !stream.ended) else {
            return false;
        };
        let before = stream.low;
        let made = stream.make_place(now, standing, quiet);
        self.on_dropped(before);
        made
    }

    /// Blocks before the last `keep` symbols are neither sent nor repaired any more.
    pub(in crate::sender) fn expire(&mut self, keep: u64) {
        let before = self.low();
        if let Some(stream) = &mut self.stream {
            stream.expire(keep);
        }
        self.on_dropped(before);
    }

    /// Blocks from `before` up to the lowest are gone.
    fn on_dropped(&mut self, before: u32) {
        let low = self.low();
        if low <= before {
            return;
        }
        self.blocks = self.blocks.split_off(&low);
        self.pending = self.pending.split_off(&low);
        self.repeats.remove_through(low - 1);
        if self.cursor.0 < low {
            self.cursor = (low, 0);
        }
    }

    /// Something of a stream's block was sent, or requested.
    pub(in crate::sender) fn touch(&mut self, now: Time, block: u32) {
        if let Some(stream) = &mut self.stream {
            stream.touch(now, block);
        }
    }

    /// Of a block that the application has yet to fill nothing but what was sent can be had: no
    /// parity. Whoever asks for parity of it all the same, as NRL's receivers do, gets all that was sent.
    pub(super) fn demand_unfinished(
        &mut self,
        block: u32,
        wanted: &BlockDemand,
        coding: &Coding,
    ) -> bool {
        let Some(stream) = &self.stream else { return false };
        let (at, sent) = self.cursor;
        if block < stream.low || block > at {
            return true;
        }
        if block < at || sent >= stream.block_len {
            return false;
        }
        let named: BTreeSet<u16> = wanted.named.range(..sent).copied().collect();
        let all = wanted.unnamed || wanted.named.last().is_some_and(|l| *l >= stream.block_len);
        let symbols = if all { (0..sent).collect() } else { named };
        if !symbols.is_empty() {
            let wanted = BlockDemand { named: symbols, ..BlockDemand::default() };
            self.block(block, coding).repeat(&wanted);
            self.pending.insert(block);
        }
        true
    }
}

/// The name of the last of so many symbols.
fn named(stream: &SendStream, count: u64) -> Option<FecPayloadId> {
    let last = count.checked_sub(1)?;
    let len = u64::from(stream.block_len);
    Some(FecPayloadId {
        block: SourceBlockNumber((last / len) as u32),
        block_len: stream.block_len,
        symbol: EncodingSymbolId((last % len) as u16),
    })
}
