//! Consecutive source symbols in one super-packet. Their common header is written once.

use super::{
    Sender,
    object_message::counter,
    piece::{Part, Piece, Purpose},
    symbol_batch::SymbolBatch,
};
use crate::context::Context;
use alloc::vec::Vec;
use fanfare_wire::{DataBatchWriter, Sequence};

impl Sender {
    /// Behind the message at `start` of `out`, which was said last, goes on with the pass that it
    /// belongs to: up to `room` messages that differ in nothing but their numbers. Returns how many.
    pub fn poll_batch(
        &mut self,
        ctx: &mut Context<'_>,
        start: usize,
        room: usize,
        out: &mut Vec<u8>,
    ) -> usize {
        let Some((batch, most)) = self.batch_ahead(room) else { return 0 };
        let segment = self.cache.get(batch.ordinal).map(|object| object.partition.segment_size);
        let segment = usize::from(segment.unwrap_or(self.coding.segment_size));
        let message = out.len() - start;
        let Some(mut writer) = DataBatchWriter::behind(out, start, segment, self.coding.fec_id)
        else {
            return 0;
        };
        let Some(lent) = ctx.storage.lend(batch.key, batch.offset, most * segment) else {
            return 0;
        };
        let mut count = 0;
        let rate = self.rate();
        for symbol in lent.chunks_exact(segment) {
            if !self.pacer.take(self.now, message, rate) {
                break;
            }
            writer.push(symbol, out);
            self.controller.on_sent(self.now, message);
            count += 1;
        }
        *counter(ctx.stats, batch.purpose) += count as u64;
        self.on_batch_sent(&batch, count as u16, message);
        count
    }

    /// What goes on behind the part said last, and how many symbols of it may.
    fn batch_ahead(&self, room: usize) -> Option<(SymbolBatch, usize)> {
        let (ordinal, said) = self.last.filter(|_| !self.cache.has_repair())?;
        let object = self.cache.get(ordinal).filter(|_| self.cache.first_new() == Some(ordinal))?;
        let (batch, left) = object.batch(ordinal)?;
        let SymbolBatch { block, symbol, purpose, .. } = batch;
        if said != (Piece { part: Part::Source { block, symbol: symbol - 1 }, purpose }) {
            return None;
        }
        let most =
            left.min(u16::from(self.batch_left)).min(u16::try_from(room).unwrap_or(u16::MAX));
        let streams = object.stream.is_some();
        let fti = |symbol| self.has_fti(block, symbol, streams);
        let alike = (symbol..symbol + most).take_while(|s| fti(*s) == fti(symbol - 1)).count();
        (alike > 0).then_some((batch, alike))
    }

    /// As each of them would be noted.
    fn on_batch_sent(&mut self, batch: &SymbolBatch, count: u16, message: usize) {
        let Some(object) = self.cache.get_mut(batch.ordinal).filter(|_| count > 0) else { return };
        if batch.purpose == Purpose::First {
            self.progress += u64::from(count) * u64::from(object.told_segment());
        }
        (0..count).for_each(|_| object.advance(&self.coding));
        object.on_sent(self.now);
        object.touch(self.now, batch.block);
        let part = Part::Source { block: batch.block, symbol: batch.symbol + count - 1 };
        self.last = Some((batch.ordinal, Piece { part, purpose: batch.purpose }));
        self.batch_left -= count as u8;
        self.sequence = Sequence(self.sequence.0.wrapping_add(count));
        self.messages.on_sent(self.now, u64::from(count));
        self.share.on_new(self.controller.rate(), usize::from(count) * message);
        self.cache.on_new_sent(batch.ordinal, usize::from(count) * message);
    }
}
