//! What is different of an object that is a stream.

use super::window::{Admission, ReceiveStream};
use crate::receiver::{block::ReceiveBlock, object::ReceiveObject};
use crate::{
    config::JoinPolicy, context::Context, event::Event, stats::DropReason, storage::StorageError,
};
use alloc::vec::Vec;
use fanfare_wire::{DataBatch, FecPayloadId, STREAM_HEADER, SourceBlockNumber, StreamSymbol};

/// Zeros behind a short symbol: a symbol of an earlier lap must not show behind it when the block is
/// decoded.
const ZEROS: [u8; 1024] = [0; 1024];

/// How far a watermark in a stream is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::receiver) enum StreamReached {
    No,
    /// All of it is here, and the application has yet to read it.
    Unread,
    Yes,
}

impl ReceiveObject {
    /// Of a stream: whether a symbol of the block that `id` names on the wire is taken, and that block.
    /// Of other objects the block is what it is.
    pub(in crate::receiver) fn view(
        &mut self,
        ctx: &mut Context<'_>,
        id: FecPayloadId,
        join: JoinPolicy,
    ) -> Option<FecPayloadId> {
        let Self { stream, blocks, .. } = self;
        let Some(stream) = stream else { return Some(id) };
        let block = stream.whole_number(id.block.0);
        match stream.admit(blocks, block, join) {
            Admission::View => {}
            Admission::After(low) => {
                stream.make_room(blocks, low);
                ctx.stats.stream_breaks += 1;
            }
            Admission::No => {
                ctx.stats.drop(DropReason::OutOfWindow);
                return None;
            }
        }
        Some(FecPayloadId { block: SourceBlockNumber(block), ..id })
    }

    /// The block that `id` names, where it can be told without beginning anything.
    pub(in crate::receiver) fn whole_number(&self, id: FecPayloadId) -> FecPayloadId {
        let block = self.stream.as_ref().map_or(id.block.0, |s| s.whole_number(id.block.0));
        FecPayloadId { block: SourceBlockNumber(block), ..id }
    }

    /// A flush names a symbol: all up to it was sent. One that is far ahead, or that no block has,
    /// says nothing.
    pub(in crate::receiver) fn on_stream_flush(
        &mut self,
        id: FecPayloadId,
        join: JoinPolicy,
    ) -> FecPayloadId {
        let Self { stream, blocks, format, .. } = self;
        let Some(stream) = stream else { return id };
        let block = stream.whole_number(id.block.0);
        let named = FecPayloadId { block: SourceBlockNumber(block), ..id };
        if id.symbol.0 < format.partition.block_len(named.block)
            && stream.admit(blocks, block, join) == Admission::View
        {
            stream.hear(stream.index(block, id.symbol.0) + 1);
        }
        named
    }

    /// Keeps a source symbol. `None`: it is none.
    pub(in crate::receiver) fn write_symbol(
        &mut self,
        ctx: &mut Context<'_>,
        offset: u64,
        payload: &[u8],
    ) -> Result<(), StorageError> {
        ctx.storage.write(self.key, offset, payload)?;
        if self.stream.is_none() {
            return Ok(());
        }
        let slot = u64::from(self.format.partition.segment_size);
        let mut at = offset + payload.len() as u64;
        while at < offset + slot {
            let count = ((offset + slot - at) as usize).min(ZEROS.len());
            ctx.storage.write(self.key, at, &ZEROS[..count])?;
            at += count as u64;
        }
        Ok(())
    }

    /// Whether a symbol can be one of the stream; an object takes all.
    pub(in crate::receiver) fn is_sound(&self, id: FecPayloadId, payload: &[u8]) -> bool {
        let Some(stream) = &self.stream else { return true };
        let index = stream.index(id.block.0, id.symbol.0);
        stream.end.is_none_or(|end| index <= end) && StreamSymbol::parse(payload).is_ok()
    }

    /// Whether all symbols of a row can.
    pub(in crate::receiver) fn is_sound_batch(&self, batch: &DataBatch<'_>) -> bool {
        self.stream.is_none() || batch.symbols().all(|symbol| StreamSymbol::parse(symbol).is_ok())
    }

    /// A symbol was kept: source symbols up to `symbol` of `block` were sent, all of them where it is
    /// parity.
    pub(in crate::receiver) fn heard_symbol(&mut self, block: u32, symbol: u16, payload: &[u8]) {
        let len = self.format.partition.block_len(SourceBlockNumber(block));
        let Some(stream) = &mut self.stream else { return };
        stream.contradict(block);
        let index = stream.index(block, symbol.min(len - 1));
        if symbol < len
            && stream.end.is_none()
            && matches!(StreamSymbol::parse(payload), Ok(StreamSymbol::End { .. }))
        {
            stream.end = Some(index);
        }
        stream.hear(index + 1);
    }

    /// Tells who waits that there is more to be read.
    pub(in crate::receiver) fn tell_readable(&mut self, ctx: &mut Context<'_>) {
        let Self { stream, blocks, key, .. } = self;
        if let Some(stream) = stream.as_mut().filter(|stream| stream.waits)
            && stream.is_readable(blocks)
        {
            stream.waits = false;
            ctx.events.push(Event::StreamReadable { key: *key });
        }
    }

    /// Whether what was decoded of `block` can be symbols of the stream.
    pub(in crate::receiver) fn is_sound_block(
        &self,
        ctx: &mut Context<'_>,
        block: u32,
        symbols: &[u16],
    ) -> Result<bool, StorageError> {
        if self.stream.is_none() {
            return Ok(true);
        }
        let mut slot = Vec::new();
        for &symbol in symbols {
            let span = self.format.partition.span(SourceBlockNumber(block), symbol);
            let (offset, bytes) = span.ok_or(StorageError::Failed)?;
            slot.resize(bytes, 0);
            ctx.storage.read(self.key, offset, &mut slot)?;
            if StreamSymbol::parse(&slot).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Source symbols (runs: first, last) to be requested by name of the block that the sender may not
    /// have filled yet, and that block. `beyond`: the sender sends later objects.
    pub(in crate::receiver) fn tail_names(&self, beyond: bool) -> Option<(u32, Vec<(u16, u16)>)> {
        let stream = self.stream.as_ref()?;
        let (block, sent) = stream.tail();
        let sent = sent + u16::from(stream.asks_for_end(beyond));
        if sent == 0 || self.blocks.is_complete(block) {
            return None;
        }
        let state = self.blocks.partial(block);
        let missing = |symbol: &u16| state.is_none_or(|state| !state.has_source(*symbol));
        let missing: Vec<u16> = (0..sent).filter(missing).collect();
        let runs = missing.chunk_by(|a, b| a + 1 == *b);
        let runs: Vec<_> = runs.filter_map(|run| Some((*run.first()?, *run.last()?))).collect();
        (!runs.is_empty()).then_some((block, runs))
    }

    /// Blocks below this one are whole at the sender.
    pub(in crate::receiver) fn whole_blocks(&self) -> u64 {
        self.stream.as_ref().map_or(u64::MAX, |stream| u64::from(stream.tail().0))
    }

    /// The lowest block of a stream of which something is to be requested.
    pub(in crate::receiver) fn stream_need(&self, beyond: bool) -> Option<u32> {
        let first = self.blocks.first_incomplete()?;
        if u64::from(first) < self.whole_blocks() {
            return Some(first);
        }
        self.tail_names(beyond).map(|(block, _)| block)
    }

    /// How far a watermark is reached.
    pub(in crate::receiver) fn stream_reached(&self, id: FecPayloadId) -> StreamReached {
        let Some(stream) = &self.stream else { return StreamReached::No };
        let id = self.whole_number(id);
        let index = stream.index(id.block.0, id.symbol.0);
        let here = || (stream.next..=index).all(|at| stream.is_settled(&self.blocks, at));
        match stream.next > index {
            // That it was read to its end is for the driver to say.
            true if stream.end == Some(index) => StreamReached::Unread,
            true => StreamReached::Yes,
            false if index - stream.next < stream.slots() && here() => StreamReached::Unread,
            false => StreamReached::No,
        }
    }

    /// Nothing of the stream is missing up to its end.
    pub(in crate::receiver) fn is_stream_whole(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| {
            let all = |end: u64| (stream.next..=end).all(|at| stream.is_settled(&self.blocks, at));
            stream.end.is_some_and(all)
        })
    }

    /// The sender says what it no longer has of the stream. False: that is not believed yet.
    pub(in crate::receiver) fn on_stream_squelch(
        &mut self,
        ctx: &mut Context<'_>,
        block: u32,
        grtt: crate::time::Duration,
    ) {
        let Self { stream, blocks, .. } = self;
        let Some(stream) = stream else { return };
        let block = stream.whole_number(block);
        if !stream.on_squelch(blocks, block, (ctx.now, grtt)) {
            ctx.stats.drop(DropReason::Unconfirmed);
        }
        self.tell_readable(ctx);
    }
}

impl ReceiveStream {
    /// Whether nothing more of a symbol will come.
    pub(super) fn is_settled(
        &self,
        blocks: &crate::receiver::blocks::BlockSet,
        index: u64,
    ) -> bool {
        let (block, symbol) = (self.block_of(index), self.symbol_of(index));
        let here = |state: &ReceiveBlock| state.has_source(symbol);
        blocks.is_complete(block) || blocks.partial(block).is_some_and(here)
    }

    /// Bytes of a header.
    pub(super) const HEADER: usize = STREAM_HEADER;
}
