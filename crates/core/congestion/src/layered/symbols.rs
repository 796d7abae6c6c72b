//! Which symbol goes into which packet, so that no receiver gets the same symbol twice.
//!
//! The symbols of a block are used in order, for whichever layer sends next. Each symbol is sent
//! once, on one layer, until all 16 million symbols of a block are used. Each layer goes through
//! the blocks in turn, independently of the others. So a receiver of the first layers alone gets as
//! many symbols of one block as of another. If the blocks were assigned to packets in the order of
//! sending, a layer could get all packets of one block and none of another.

use alloc::vec::Vec;

/// Encoding symbol ids have 24 bits (RFC 6330 3.2). After them they begin again.
const IDS: u32 = 1 << 24;

/// A symbol of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol {
    /// Its source block.
    pub block: u8,
    /// Its encoding symbol id: first those of the source symbols, then repair.
    pub id: u32,
}

/// The sender's numbering.
#[derive(Debug)]
pub struct Symbols {
    /// The next id of each block.
    next: Vec<u32>,
    /// The next block of each layer.
    turns: Vec<u8>,
}

impl Symbols {
    /// Of an object of so many blocks, at least one, over so many layers.
    #[must_use]
    pub fn new(blocks: u8, layers: usize) -> Self {
        let blocks = blocks.max(1);
        let turns = (0..layers).map(|layer| (layer % usize::from(blocks)) as u8).collect();
        Self { next: alloc::vec![0; usize::from(blocks)], turns }
    }

    /// What a layer's next packet carries.
    ///
    /// # Panics
    /// When there is no such layer.
    pub fn next(&mut self, layer: usize) -> Symbol {
        let block = self.turns[layer];
        // At most 255 blocks.
        self.turns[layer] = ((usize::from(block) + 1) % self.next.len()) as u8;
        let next = &mut self.next[usize::from(block)];
        let id = core::mem::replace(next, (*next + 1) % IDS);
        Symbol { block, id }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    /// Layers send so many packets each, in turn.
    fn sent(blocks: u8, packets: &[usize]) -> Vec<(usize, Symbol)> {
        let mut symbols = Symbols::new(blocks, packets.len());
        let rounds = packets.iter().max().copied().unwrap_or(0);
        let mut all = Vec::new();
        for round in 0..rounds {
            for (layer, count) in packets.iter().enumerate() {
                // Each at its own even pace.
                let due = |n: usize| n * count / rounds;
                (due(round)..due(round + 1)).for_each(|_| all.push((layer, symbols.next(layer))));
            }
        }
        all
    }

    #[test]
    fn no_symbol_is_sent_twice_on_any_layer() {
        let all = sent(7, &[1000, 500, 250, 2000]);
        let different: BTreeSet<Symbol> = all.iter().map(|(_, symbol)| *symbol).collect();
        assert_eq!((all.len(), different.len()), (3750, 3750));
    }

    #[test]
    fn a_receiver_of_the_first_layers_gets_as_much_of_each_block() {
        for level in 1..=4 {
            let mut of_block = [0_u32; 4];
            let all = sent(4, &[400, 800, 1600, 3200]);
            let heard = all.iter().filter(|(layer, _)| *layer < level);
            heard.for_each(|(_, symbol)| of_block[usize::from(symbol.block)] += 1);
            let (most, least) = (of_block.iter().max(), of_block.iter().min());
            assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{of_block:?}");
        }
    }

    #[test]
    fn source_symbols_are_sent_first_and_ids_start_over_when_all_were_sent() {
        let mut symbols = Symbols::new(2, 1);
        let first: Vec<u32> = (0..6).map(|_| symbols.next(0).id).collect();
        assert_eq!(first, [0, 0, 1, 1, 2, 2]);
        symbols.next[0] = IDS - 1;
        let ids: Vec<u32> = (0..3).map(|_| symbols.next(0).id).collect();
        assert_eq!(ids, [IDS - 1, 3, 0]);
    }
}
