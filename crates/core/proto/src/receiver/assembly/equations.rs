//! Sums of a block's symbols, sent by peers that hold only a part of the block. They are kept until
//! source symbols can be solved from them.
//!
//! Solved symbols are written at once, before the block is complete. So a receiver never requests a
//! symbol that it could compute, and it can retransmit that symbol to others.

use crate::receiver::{
    block::{Equation, ReceiveBlock},
    decode::{DecodeError, Decoder},
    format::Format,
    object::{Arrival, ReceiveObject},
};
use crate::{
    context::Context,
    peer_repair::{Combination, SUM_SYMBOLS_MAX},
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
    pub(in crate::receiver) fn settle(
        &mut self,
        ctx: &mut Context<'_>,
        decoder: &mut Decoder,
        block: u32,
    ) -> Result<Arrival, StorageError> {
        let len = self.format.partition.block_len(SourceBlockNumber(block));
        while let Some(state) = self.blocks.partial(block) {
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
pub(in crate::receiver) fn restricted(row: &[u8], missing: &[u16]) -> Vec<u8> {
    missing.iter().map(|&symbol| row[usize::from(symbol)]).collect()
}

impl Decoder {
    /// What parity and sums say of the missing symbols; and which of the sums say something new.
    pub(in crate::receiver) fn known(
        &mut self,
        format: &Format,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::ReceiverConfig,
        receiver::{blocks::BlockSet, format::tests::small},
        storage::{MemoryStorage, ObjectKey, Storage},
    };
    use fanfare_fec::Matrix;
    use fanfare_wire::{FecId, InstanceId, NodeId, ObjectFlags, ObjectTransportId};

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(0) };

    /// The last block (35 bytes: 4 symbols, the last of 5) of an object of 75, of which these are held.
    struct Holder {
        storage: MemoryStorage,
        decoder: Decoder,
        format: Format,
        state: ReceiveBlock,
    }

    fn object() -> Vec<u8> {
        (0..75).map(|n| n * 3 + 1).collect()
    }

    impl Holder {
        fn of(held: &[u16]) -> Self {
            let config = ReceiverConfig::default();
            let format = Format::new(FecId::ReedSolomon8, small(75, 10), ObjectFlags(0), &config);
            let format = format.unwrap();
            let mut storage = MemoryStorage::new(1000);
            storage.open(KEY, format.kind, 75).unwrap();
            let mut state = ReceiveBlock::new(4);
            for &symbol in held {
                let at = 40 + usize::from(symbol) * 10;
                let bytes = &object()[at..(at + 10).min(75)];
                storage.write(KEY, at as u64, bytes).unwrap();
                state.set_source(symbol);
            }
            Self { storage, decoder: Decoder::new(Matrix::Nrl), format, state }
        }

        fn sum(&mut self, seed: u8) -> (Combination, Vec<u8>) {
            let Self { storage, decoder, format, state } = self;
            let mut bytes = Vec::new();
            decoder.combine(storage, KEY, format, (1, state, seed), &mut bytes).unwrap();
            let sources = (0..4).filter(|&symbol| state.has_source(symbol));
            let parity = state.parity().map(|(number, _)| 4 + number);
            (Combination { seed, symbols: sources.chain(parity).collect() }, bytes)
        }

        fn take(&mut self, (sum, bytes): (Combination, Vec<u8>)) -> Vec<u16> {
            let row = self.decoder.row(&self.format, 4, &sum).unwrap();
            self.state.add_equation(Equation { row, bytes: bytes.into() });
            let Self { storage, decoder, format, state } = self;
            let found = decoder.deduce(storage, KEY, format, 1, state).unwrap();
            state.retain_equations(&found.equations);
            found.sources.iter().for_each(|&symbol| state.set_source(symbol));
            found.sources
        }
    }

    #[test]
    fn symbols_solved_from_sums_are_in_storage_before_the_block_is_complete() {
        let (mut one, mut other) = (Holder::of(&[0, 1, 3]), Holder::of(&[0]));
        assert_eq!(other.take(one.sum(5)), []);
        assert_eq!(other.state.erasures(), 2);
        assert_eq!(other.take(one.sum(6)), [1, 3]);
        assert_eq!(other.storage.get(KEY).unwrap()[50..60], object()[50..60]);
        assert_eq!(other.storage.get(KEY).unwrap()[70..], object()[70..], "the short last symbol");
        let whole = Holder::of(&[0, 1, 2, 3]);
        let mut parity = Vec::new();
        let Holder { mut storage, mut decoder, format, .. } = whole;
        decoder.parity(&mut storage, KEY, &format, 1, 0, &mut parity).unwrap();
        one.state.add_parity(0, &parity);
        assert_eq!(other.take(one.sum(7)), [2], "a sum has parity in it, too");
        assert_eq!(other.storage.get(KEY).unwrap()[40..], object()[40..]);
    }

    #[test]
    fn a_sum_of_known_symbols_is_not_kept() {
        let (mut one, mut other) = (Holder::of(&[0, 1]), Holder::of(&[0]));
        assert_eq!(other.take(one.sum(5)), [1]);
        assert_eq!(other.take(one.sum(6)), []);
        assert_eq!((other.state.equations().len(), other.state.erasures()), (0, 2));
    }

    #[test]
    fn impossible_sums_have_no_row() {
        let mut one = Holder::of(&[0, 1]);
        let sum = |symbols: &[u16]| Combination { seed: 0, symbols: symbols.into() };
        assert!(one.decoder.row(&one.format, 4, &sum(&[0, 5])).is_some());
        assert!(one.decoder.row(&one.format, 4, &sum(&[0, 6])).is_none());
    }

    #[test]
    fn the_memory_of_sums_is_counted_while_they_are_kept() {
        let sum = || Equation { row: [1; 4].into(), bytes: [0; 100].into() };
        let mut set = BlockSet::new(3);
        set.set_source(1, 4, 0);
        let begun = set.bytes();
        set.add_equation(1, 4, sum());
        set.add_equation(1, 4, sum());
        assert_eq!(set.bytes(), begun + 2 * ReceiveBlock::cost_of_equation(4, 100));
        set.retain_equations(1, &[false, true]);
        assert_eq!(set.highest_with_parity(), Some(1));
        set.drop_parity(1);
        assert_eq!((set.bytes(), set.highest_with_parity()), (begun, None));
    }
}
