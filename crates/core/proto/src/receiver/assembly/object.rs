//! An object that is being received. Symbols are written straight to their place in storage.

use crate::receiver::{
    block::ReceiveBlock,
    blocks::BlockSet,
    decode::{DecodeError, Decoder},
    format::{Format, Place},
    stream::ReceiveStream,
};
use crate::{
    config::{Nacking, ReceiverConfig},
    context::Context,
    event::Event,
    stats::DropReason,
    storage::{ObjectKey, ObjectKind, StorageError},
};
use alloc::{boxed::Box, vec::Vec};
use core::ops::Range;
use fanfare_wire::{DataBatch, FecPayloadId, SourceBlockNumber};

/// What has become of the object's NORM_INFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InfoState {
    /// The object has none.
    None,
    Wanted,
    Here,
}

/// What a symbol has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Nothing that was not here.
    Nothing,
    New,
    /// What its block lacked; the object may be complete.
    Block,
}

/// An object whose structure is known.
#[derive(Debug)]
pub(crate) struct ReceiveObject {
    pub(in crate::receiver) key: ObjectKey,
    pub(in crate::receiver) format: Format,
    /// What makes it a stream, if it is one.
    pub(in crate::receiver) stream: Option<Box<ReceiveStream>>,
    pub(in crate::receiver) blocks: BlockSet,
    info: InfoState,
    pub(in crate::receiver) received: u64,
    /// The driver looks at what it has of it: content is taken, but not requested.
    examined: bool,
    /// What is requested of it.
    pub(in crate::receiver) nacking: Nacking,
    /// The furthest block in which the sender's pass was heard.
    heard: u32,
}

impl ReceiveObject {
    /// Opens the object in storage and tells the driver of it.
    pub(crate) fn open(
        ctx: &mut Context<'_>,
        key: ObjectKey,
        format: Format,
        has_info: bool,
        config: &ReceiverConfig,
    ) -> Result<Self, StorageError> {
        let (size, stream) = match format.kind {
            ObjectKind::Stream => {
                let stream = ReceiveStream::open(ctx.storage, key, &format, config)?;
                (format.fti.object_size, Some(Box::new(stream)))
            }
            ObjectKind::Data | ObjectKind::File => {
                ctx.storage.open(key, format.kind, format.partition.object_size)?;
                (format.partition.object_size, None)
            }
        };
        ctx.events.push(Event::ObjectNew { key, kind: format.kind, size, has_info });
        let info = if has_info { InfoState::Wanted } else { InfoState::None };
        let blocks = BlockSet::new(format.partition.blocks);
        let (received, examined) = (0, false);
        let nacking = config.nacking;
        Ok(Self { key, format, stream, blocks, info, received, examined, nacking, heard: 0 })
    }

    /// An object that was complete, to be repaired.
    pub(crate) fn reopen(key: ObjectKey, format: Format) -> Self {
        let mut blocks = BlockSet::new(format.partition.blocks);
        blocks.finish_all(0..format.partition.blocks);
        // Whatever became of its INFO was told when it was complete.
        let (info, received) = (InfoState::Here, format.partition.object_size);
        let (stream, examined, nacking) = (None, false, Nacking::Normal);
        Self { key, format, stream, blocks, info, received, examined, nacking, heard: 0 }
    }

    pub(crate) fn format(&self) -> &Format {
        &self.format
    }
    pub(crate) fn blocks(&self) -> &BlockSet {
        &self.blocks
    }
    /// Bytes received or recovered so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }
    /// The INFO that came was not the sender's, or it has one though a message said that it has none: it is
    /// missing again.
    pub(crate) fn lose_info(&mut self) {
        self.info = InfoState::Wanted;
    }
    /// Bytes of parity and bookkeeping.
    pub(crate) fn buffered(&self) -> usize {
        self.blocks.bytes()
    }
    /// The furthest block in which the sender's pass was heard.
    pub(crate) fn heard(&self) -> u32 {
        self.heard
    }
    /// The sender's pass is in this block. True when it was not before.
    pub(crate) fn hear_in(&mut self, block: u32) -> bool {
        let further = block > self.heard;
        self.heard = self.heard.max(block);
        further
    }
    pub(crate) fn wants_info(&self) -> bool {
        self.info == InfoState::Wanted
    }
    /// Nothing is missing.
    pub(crate) fn is_complete(&self) -> bool {
        match self.stream {
            Some(_) => self.is_stream_done(),
            None => !self.wants_info() && self.blocks.first_incomplete().is_none(),
        }
    }
    /// The lowest block to ask something of; INFO counts as block 0. `beyond`: the sender has sent
    /// something of later objects.
    pub(crate) fn first_need(&self, beyond: bool) -> Option<u32> {
        if self.nacking == Nacking::None {
            return None;
        }
        match (self.wants_info(), self.examined || self.nacking == Nacking::InfoOnly) {
            (true, _) => Some(0),
            (false, true) => None,
            (false, false) if self.stream.is_some() => self.stream_need(beyond),
            (false, false) => self.blocks.first_incomplete(),
        }
    }
    pub(crate) fn is_examined(&self) -> bool {
        self.examined
    }
    /// The driver begins, or ends, to look at what it has of it.
    pub(crate) fn examine(&mut self, examined: bool) {
        self.examined = examined;
    }

    /// Bytes that keeping a symbol would take: none for one more source symbol of a block begun.
    pub(crate) fn cost(&self, id: FecPayloadId, bytes: usize) -> usize {
        let len = self.format.partition.block_len(id.block);
        let parity = if id.symbol.0 < len { 0 } else { ReceiveBlock::cost_of_parity(bytes) };
        let begun = self.blocks.partial(id.block.0).is_some();
        parity + if begun { 0 } else { ReceiveBlock::cost_of(len) }
    }

    /// NORM_INFO arrived.
    pub(crate) fn on_info(&mut self, ctx: &mut Context<'_>, payload: &[u8]) {
        if self.info == InfoState::Here {
            return ctx.stats.drop(DropReason::Duplicate);
        }
        self.info = InfoState::Here;
        ctx.events.push(Event::ObjectInfo { key: self.key, info: payload.into() });
    }

    /// A symbol arrived.
    pub(crate) fn on_symbol(
        &mut self,
        ctx: &mut Context<'_>,
        decoder: &mut Decoder,
        id: FecPayloadId,
        payload: &[u8],
    ) -> Result<Arrival, StorageError> {
        let Some(place) = self.format.place(id, payload.len()) else {
            // An empty object may be carried by one empty symbol (NRL's receivers take it, too).
            if !(self.format.partition.blocks == 0 && payload.is_empty()) {
                ctx.stats.drop(DropReason::Symbol);
            }
            return Ok(Arrival::Nothing);
        };
        if self.has(id, place) {
            ctx.stats.drop(DropReason::Duplicate);
            return Ok(Arrival::Nothing);
        }
        let (block, len) = (id.block.0, self.format.partition.block_len(id.block));
        let state = match place {
            Place::Source { .. } if !self.is_sound(id, payload) => {
                ctx.stats.drop(DropReason::Symbol);
                return Ok(Arrival::Nothing);
            }
            Place::Source { offset, bytes } => {
                self.write_symbol(ctx, offset, payload)?;
                ctx.stats.source_received += 1;
                self.received += bytes as u64;
                self.blocks.set_source(block, len, id.symbol.0)
            }
            Place::Parity { .. } if self.format.parity == 0 => {
                ctx.stats.drop(DropReason::Symbol);
                return Ok(Arrival::Nothing);
            }
            Place::Parity { number } => {
                ctx.stats.parity_received += 1;
                self.blocks.add_parity(block, len, number, payload)
            }
        };
        let (settles, erasures) = (!state.equations().is_empty(), state.erasures());
        self.heard_symbol(block, id.symbol.0, payload);
        if settles {
            return self.settle(ctx, decoder, block);
        }
        if erasures > 0 {
            self.tell_readable(ctx);
            return Ok(Arrival::New);
        }
        self.finish(ctx, decoder, block)?;
        self.tell_readable(ctx);
        Ok(Arrival::Block)
    }

    /// How many symbols of a row that begins with `id` are source symbols of its block, which has
    /// begun, and not here.
    pub(crate) fn batch_wanted(&self, id: FecPayloadId, batch: &DataBatch<'_>) -> usize {
        let (block, symbol) = (id.block.0, id.symbol.0);
        let len = self.format.partition.block_len(id.block);
        let count = batch.len().min(usize::from(len.saturating_sub(symbol)));
        let last = symbol.saturating_add((count as u16).saturating_sub(1));
        let full = self.format.partition.span(id.block, last);
        let full = full.is_some_and(|(_, bytes)| bytes == batch.symbol_size())
            && batch.symbol_size() == usize::from(self.format.partition.segment_size)
            && self.is_sound_batch(batch);
        let lacks = |state: &ReceiveBlock| {
            state.equations().is_empty() && state.lacks_all(symbol..symbol + count as u16)
        };
        if full && self.blocks.partial(block).is_some_and(lacks) { count } else { 0 }
    }

    /// Symbols arrived, all of them wanted.
    pub(crate) fn on_batch(
        &mut self,
        ctx: &mut Context<'_>,
        decoder: &mut Decoder,
        id: FecPayloadId,
        batch: DataBatch<'_>,
    ) -> Result<Arrival, StorageError> {
        let (block, symbol, count) = (id.block.0, id.symbol.0, batch.len() as u16);
        let Some((offset, bytes)) = self.format.partition.span(id.block, symbol) else {
            return Ok(Arrival::Nothing);
        };
        ctx.storage.write_batch(self.key, offset, batch)?;
        ctx.stats.source_received += u64::from(count);
        self.received += bytes as u64 * u64::from(count);
        let erasures = self.blocks.set_sources(block, symbol..symbol + count);
        self.heard_symbol(block, symbol + count - 1, &[]);
        if erasures == 0 {
            self.finish(ctx, decoder, block)?;
        }
        self.tell_readable(ctx);
        Ok(if erasures > 0 { Arrival::New } else { Arrival::Block })
    }

    fn has(&self, id: FecPayloadId, place: Place) -> bool {
        let block = id.block.0;
        let here = |state: &ReceiveBlock| match place {
            Place::Source { .. } => state.has_source(id.symbol.0),
            Place::Parity { number } => state.has_parity(number),
        };
        // Mostly its block has begun, and then it is not complete.
        self.blocks.partial(block).map_or_else(|| self.blocks.is_complete(block), here)
    }

    /// Enough of `block` is here: recovers what is missing.
    fn finish(
        &mut self,
        ctx: &mut Context<'_>,
        decoder: &mut Decoder,
        block: u32,
    ) -> Result<(), StorageError> {
        let Some(state) = self.blocks.partial(block) else { return Ok(()) };
        if state.sources() < state.len() {
            let recovered = decoder.recover(ctx.storage, self.key, &self.format, block, state);
            let missing: Vec<u16> = match self.stream {
                Some(_) => state.missing_sources().collect(),
                None => Vec::new(),
            };
            match recovered {
                Ok(_) if !self.is_sound_block(ctx, block, &missing)? => {
                    ctx.stats.drop(DropReason::Symbol);
                    self.blocks.drop_parity(block);
                    return Ok(());
                }
                Ok((symbols, bytes)) => {
                    ctx.stats.recovered += u64::from(symbols);
                    self.received += bytes;
                }
                Err(DecodeError::Storage(error)) => return Err(error),
                // Cannot be with symbols that were checked; without the parity it is asked again.
                Err(DecodeError::Code) => {
                    self.blocks.drop_parity(block);
                    return Ok(());
                }
            }
        }
        self.blocks.finish(block);
        Ok(())
    }

    /// Bytes that are in storage already, from before. Bookkeeping of blocks that they end in takes
    /// at most `room` bytes; what finds none is requested as if it were missing.
    pub(crate) fn have(
        &mut self,
        ctx: &mut Context<'_>,
        decoder: &mut Decoder,
        (offset, len): (u64, u64),
        room: usize,
    ) -> Result<(), StorageError> {
        let partition = self.format.partition;
        let cover = partition.cover(partition.symbols_within(offset, len));
        let runs = self.blocks.incomplete_runs(cover.whole.clone());
        let missing: u64 = runs.map(|(first, end)| self.span_of(first, end)).sum();
        self.received += missing - self.begun_in(cover.whole.clone());
        self.blocks.finish_all(cover.whole);
        for (block, symbols) in cover.parts.into_iter().flatten() {
            let len = partition.block_len(SourceBlockNumber(block));
            let begun = self.blocks.partial(block).is_some();
            let fits = begun || self.buffered() + ReceiveBlock::cost_of(len) <= room;
            if !fits || self.blocks.is_complete(block) {
                continue;
            }
            let before = self.begun_in(block..block + 1);
            symbols.for_each(|symbol| {
                self.blocks.set_source(block, len, symbol);
            });
            self.received += self.begun_in(block..block + 1) - before;
            let state = self.blocks.partial(block);
            if state.is_some_and(|state| !state.equations().is_empty()) {
                self.settle(ctx, decoder, block)?;
            } else if state.is_some_and(|state| state.erasures() == 0) {
                self.finish(ctx, decoder, block)?;
            }
        }
        Ok(())
    }

    /// Bytes in storage are wrong: every symbol that they touch is missing again.
    pub(crate) fn lose(&mut self, (offset, len): (u64, u64), room: usize) {
        let partition = self.format.partition;
        let cover = partition.cover(partition.symbols_touching(offset, len));
        self.lose_blocks(cover.whole);
        for (block, symbols) in cover.parts.into_iter().flatten() {
            let len = partition.block_len(SourceBlockNumber(block));
            let begun = self.blocks.partial(block).is_some();
            if !begun && self.buffered() + ReceiveBlock::cost_of(len) > room {
                self.lose_blocks(block..block + 1);
                continue;
            }
            self.received -= self.held_in(block..block + 1);
            self.blocks.lose(block, len, symbols);
            self.received += self.held_in(block..block + 1);
        }
    }

    fn lose_blocks(&mut self, blocks: Range<u32>) {
        self.received -= self.held_in(blocks.clone());
        self.blocks.lose_all(blocks);
    }

    fn span_of(&self, first: u32, end: u32) -> u64 {
        let partition = &self.format.partition;
        partition.block_start(end) - partition.block_start(first)
    }

    /// Source bytes of `blocks` that are here.
    fn held_in(&self, blocks: Range<u32>) -> u64 {
        let runs = self.blocks.incomplete_runs(blocks.clone());
        let missing: u64 = runs.map(|(first, end)| self.span_of(first, end)).sum();
        self.span_of(blocks.start, blocks.end) - missing + self.begun_in(blocks)
    }

    /// Source bytes that are here of those of `blocks` that have begun.
    fn begun_in(&self, blocks: Range<u32>) -> u64 {
        let (last, segment) = (self.format.partition.last(), self.format.fti.segment_size);
        let bytes = |(block, state): (u32, &ReceiveBlock)| {
            let full = u64::from(state.sources()) * u64::from(segment);
            let ends = block == last.block.0 && state.has_source(last.symbol.0);
            full - if ends { self.short_by() } else { 0 }
        };
        self.blocks.partials(blocks).map(bytes).sum()
    }

    /// Bytes that the last symbol lacks to a full segment.
    fn short_by(&self) -> u64 {
        let partition = &self.format.partition;
        partition.symbols() * u64::from(partition.segment_size) - partition.object_size
    }

    /// Runs (offset, bytes) of complete blocks, lowest first.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let start = |block| self.format.partition.block_start(block);
        self.blocks
            .complete_runs()
            .map(move |(first, end)| (start(first), self.span_of(first, end)))
    }

    /// Bytes of complete blocks from the start.
    pub(crate) fn first_gap(&self) -> u64 {
        let blocks = self.format.partition.blocks;
        self.format.partition.block_start(self.blocks.first_incomplete().unwrap_or(blocks))
    }

    /// Gives the parity of its highest block back, if that lies above `above`; bytes freed.
    pub(crate) fn give_way(&mut self, above: Option<u32>) -> usize {
        let Some(block) = self.blocks.highest_with_parity() else { return 0 };
        if above.is_some_and(|above| block <= above) {
            return 0;
        }
        let before = self.blocks.bytes();
        self.blocks.drop_parity(block);
        before - self.blocks.bytes()
    }

    /// Whether source symbols up to and including `symbol` of `block` are all in storage.
    pub(crate) fn complete_to(&self, block: u32, symbol: u16) -> bool {
        if self.wants_info() {
            return false;
        }
        match self.blocks.first_incomplete() {
            None => true,
            Some(first) if first != block => first > block,
            Some(_) => self.blocks.partial(block).is_some_and(|state| state.has_up_to(symbol)),
        }
    }
}
