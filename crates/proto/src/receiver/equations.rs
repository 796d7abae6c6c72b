//! Sums of a block's symbols, sent by receivers that hold parts of it: kept until source symbols follow.
//!
//! What follows is written at once, before the block is whole: who asks by name asks for nothing that
//! it could know, and what it knows it can pass on.

use super::{
    block::{Equation, ReceiveBlock},
    decode::{DecodeError, Decoder},
    object::{Arrival, ReceiveObject},
};
use crate::{
    context::Context,
    cooperation::{Combination, SUM_SYMBOLS_MAX},
    stats::DropReason,
    storage::StorageError,
};
use alloc::vec::Vec;
use fanfare_fec::Elimination;
use fanfare_wire::SourceBlockNumber;

impl ReceiveObject {
    /// Bytes that keeping a sum would take.
    pub(crate) fn cost_of_sum(&self, block: u32, bytes: usize) -> usize {
        let len = self.format.partition.block_len(SourceBlockNumber(block));
        let begun = self.blocks.partial(block).is_some();
        let block = if begun { 0 } else { ReceiveBlock::cost_of(len) };
        block + ReceiveBlock::cost_of_equation(len, bytes)
    }

    /// A sum of symbols of `block` arrived.
    pub(crate) fn on_combination(
        &mut self,
        ctx: &mut Context<'_>,
        decoder: &mut Decoder,
        (block, combination): (u32, &Combination),
        payload: &[u8],
    ) -> Result<Arrival, StorageError> {
        let number = SourceBlockNumber(block);
        let longest = self.format.partition.span(number, 0).map(|(_, bytes)| bytes);
        let len = self.format.partition.block_len(number);
        let row = decoder.row(&self.format, len, combination);
        let fits =
            longest == Some(payload.len()) && self.format.parity > 0 && len <= SUM_SYMBOLS_MAX;
        let Some(row) = row.filter(|_| fits) else {
            ctx.stats.drop(DropReason::Symbol);
            return Ok(Arrival::Nothing);
        };
        if self.blocks.is_complete(block) || !self.is_new(decoder, (block, len), &row) {
            ctx.stats.drop(DropReason::Duplicate);
            return Ok(Arrival::Nothing);
        }
        ctx.stats.parity_received += 1;
        self.blocks.add_equation(block, len, Equation { row, bytes: payload.into() });
        self.settle(ctx, decoder, block)
    }

    /// Whether a sum says something that does not follow from what is here.
    fn is_new(&self, decoder: &mut Decoder, (block, len): (u32, u16), row: &[u8]) -> bool {
        let Some(state) = self.blocks.partial(block) else { return true };
        let missing: Vec<u16> = state.missing_sources().collect();
        let Some((mut known, _)) = decoder.known(&self.format, len, state, &missing) else {
            return false;
        };
        known.add(&restricted(row, &missing))
    }

    /// Something new of a block of which there are sums: writes what follows from them, and forgets
    /// those that say nothing more.
    pub(super) fn settle(
        &mut self,
        ctx: &mut Context<'_>,
        decoder: &mut Decoder,
        block: u32,
    ) -> Result<Arrival, StorageError> {
        let len = self.format.partition.block_len(SourceBlockNumber(block));
        loop {
            let Some(state) = self.blocks.partial(block) else { break };
            let found = match decoder.deduce(ctx.storage, self.key, &self.format, block, state) {
                Ok(found) => found,
                Err(DecodeError::Storage(error)) => return Err(error),
                Err(DecodeError::Code) => {
                    self.blocks.drop_parity(block);
                    return Ok(Arrival::New);
                }
            };
            self.blocks.retain_equations(block, &found.equations);
            ctx.stats.recovered += found.sources.len() as u64;
            self.received += found.bytes;
            for &symbol in &found.sources {
                self.blocks.set_source(block, len, symbol);
            }
            if found.sources.is_empty() {
                break;
            }
        }
        if self.blocks.partial(block).is_some_and(|state| state.sources() == state.len()) {
            self.blocks.finish(block);
            return Ok(Arrival::Block);
        }
        Ok(Arrival::New)
    }
}

/// The factors of missing symbols.
pub(super) fn restricted(row: &[u8], missing: &[u16]) -> Vec<u8> {
    missing.iter().map(|&symbol| row[usize::from(symbol)]).collect()
}

impl Decoder {
    /// What parity and sums say of the missing symbols; and which of the sums say something new.
    pub(super) fn known(
        &mut self,
        format: &super::format::Format,
        len: u16,
        state: &ReceiveBlock,
        missing: &[u16],
    ) -> Option<(Elimination, Vec<bool>)> {
        let mut known = Elimination::new(missing.len());
        for (number, _) in state.parity() {
            let row = self.parity_row(format, len, number)?;
            known.add(&restricted(&row, missing));
        }
        let new = state.equations().iter().map(|sum| known.add(&restricted(&sum.row, missing)));
        let new = new.collect();
        Some((known, new))
    }
}
