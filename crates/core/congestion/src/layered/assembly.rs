//! The symbols of an object that a receiver has, and where each is stored until its block can be
//! decoded.
//!
//! Each symbol takes the next free place of its block, in the order of arrival. The places are
//! where the decoded bytes will be. So received symbols are on the disk and not in memory, however
//! long the object is. A block can be decoded when it has as many symbols as source symbols.

use super::Symbol;
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use fanfare_fec::fountain::Shape;

/// What is to be done with a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Nothing: it is here already, or its block is.
    Duplicate,
    /// Nothing: the object has no such block.
    OutOfRange,
    /// It is kept at this place of its block, from 0.
    Kept(u32),
    /// The same, and it may be the last that was missing: decode.
    Decodable(u32),
}

/// A block under way.
#[derive(Debug, Default)]
struct Block {
    /// Ids by place.
    ids: Vec<u32>,
    known: BTreeSet<u32>,
}

/// An object under way.
#[derive(Debug)]
pub struct ObjectAssembly {
    shape: Shape,
    /// Blocks that are not whole.
    open: BTreeMap<u8, Block>,
    /// Symbols that brought nothing new.
    spare: u64,
    /// Symbols that were kept, of all blocks.
    kept: u64,
}

impl ObjectAssembly {
    /// Without a symbol.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        let open = (0..shape.blocks()).map(|block| (block, Block::default())).collect();
        Self { shape, open, spare: 0, kept: 0 }
    }

    /// A symbol has arrived.
    pub fn on_symbol(&mut self, symbol: Symbol) -> Placement {
        if symbol.block >= self.shape.blocks() {
            return Placement::OutOfRange;
        }
        let Some(block) = self.open.get_mut(&symbol.block) else {
            self.spare += 1;
            return Placement::Duplicate;
        };
        if !block.known.insert(symbol.id) {
            self.spare += 1;
            return Placement::Duplicate;
        }
        let place = block.ids.len() as u32;
        block.ids.push(symbol.id);
        self.kept += 1;
        if place + 1 < self.shape.symbols(symbol.block) {
            Placement::Kept(place)
        } else {
            Placement::Decodable(place)
        }
    }

    /// Source symbols of a block.
    #[must_use]
    pub fn symbols(&self, block: u8) -> u32 {
        self.shape.symbols(block)
    }
    /// The ids of a block's symbols, by place.
    #[must_use]
    pub fn ids(&self, block: u8) -> &[u32] {
        self.open.get(&block).map_or(&[], |block| &block.ids)
    }
    /// A block has been decoded.
    pub fn on_decoded(&mut self, block: u8) {
        self.open.remove(&block);
    }
    /// Whether all have been.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.open.is_empty()
    }
    /// Bytes of the object that are here, as far as they count.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let size = u64::from(self.shape.symbol());
        let missing = |(number, block): (&u8, &Block)| {
            let all = self.shape.symbols(*number);
            size * u64::from(all.saturating_sub(block.ids.len() as u32))
        };
        self.shape.object().saturating_sub(self.open.iter().map(missing).sum())
    }
    /// Symbols kept beyond those that the object has, as a share of them: the reception overhead.
    #[must_use]
    pub fn overhead(&self) -> f64 {
        let all = self.shape.all() as f64;
        (self.kept as f64 - all).max(0.0) / all
    }
    /// Symbols that came twice, or for a block that was whole.
    #[must_use]
    pub fn spare(&self) -> u64 {
        self.spare
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(block: u8, id: u32) -> Symbol {
        Symbol { block, id }
    }

    #[test]
    fn symbols_are_kept_in_the_order_of_arrival_until_there_are_enough() {
        let mut gathering = ObjectAssembly::new(Shape::new(80, 16).unwrap());
        let taken: Vec<Placement> =
            [3, 1_000, 3, 7, 9].map(|id| gathering.on_symbol(symbol(0, id))).into();
        use Placement::{Duplicate, Kept};
        assert_eq!(taken, [Kept(0), Kept(1), Duplicate, Kept(2), Kept(3)]);
        assert_eq!((gathering.bytes(), gathering.ids(0)), (64, &[3, 1_000, 7, 9][..]));
        assert_eq!(gathering.on_symbol(symbol(0, 4)), Placement::Decodable(4));
        // Once in a hundred times one more is needed.
        assert_eq!(gathering.on_symbol(symbol(0, 5)), Placement::Decodable(5));
        gathering.on_decoded(0);
        assert_eq!(gathering.on_symbol(symbol(0, 6)), Duplicate);
        assert!(gathering.is_whole() && (gathering.overhead() - 0.2).abs() < 1e-9);
        assert_eq!((gathering.bytes(), gathering.spare()), (80, 2));
    }

    #[test]
    fn a_symbol_of_a_nonexistent_block_is_out_of_range() {
        let mut gathering = ObjectAssembly::new(Shape::new(80, 16).unwrap());
        assert_eq!(gathering.on_symbol(symbol(1, 0)), Placement::OutOfRange);
        assert!(gathering.ids(1).is_empty() && !gathering.is_whole());
    }
}
