//! How an object is cut into source blocks and symbols, and how that is told (RFC 6330 3.3, 4.4.1).

use core::ops::Range;

/// Symbols that a block of RaptorQ may have (RFC 6330 5.1.2).
const BLOCK_MAX: u64 = 56_403;
/// Symbols of a block where the object lets us choose: what decoding keeps in memory, 12 MB with
/// segments of 1440 bytes, and still so many that chance evens out between blocks.
const BLOCK: u64 = 8192;
/// Blocks have eight bits on the wire (RFC 6330 3.2), and so has their number (3.3.3).
const BLOCKS_MAX: u64 = 255;
/// Symbols begin at multiples of it in memory (RFC 6330 4.3 recommends 4 or more; words are 8).
const ALIGNMENT: u8 = 8;
/// A transfer length has 40 bits (RFC 6330 3.3.2).
const OBJECT_MAX: u64 = (1 << 40) - 1;

/// An object's source blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    object: u64,
    symbol: u16,
    blocks: u8,
}

/// Why an object cannot have a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeError {
    /// It has no bytes.
    Empty,
    /// A symbol of no bytes, or not a multiple of the alignment.
    Symbol(u16),
    /// More bytes than fit into so many blocks of such symbols.
    Length {
        /// Bytes.
        object: u64,
        /// The most.
        max: u64,
    },
    /// Sub-blocks or an alignment that we do not decode.
    Unsupported,
}

impl Shape {
    /// An object of so many bytes in symbols of at most so many.
    ///
    /// # Errors
    /// When it is empty or too long.
    pub fn new(object: u64, symbol: u16) -> Result<Self, ShapeError> {
        let symbol = symbol - symbol % u16::from(ALIGNMENT);
        if symbol == 0 {
            return Err(ShapeError::Symbol(symbol));
        }
        let blocks = object.div_ceil(u64::from(symbol)).div_ceil(BLOCK).min(BLOCKS_MAX);
        Self { object, symbol, blocks: blocks as u8 }.checked()
    }

    fn checked(self) -> Result<Self, ShapeError> {
        let max = (BLOCKS_MAX * BLOCK_MAX * u64::from(self.symbol)).min(OBJECT_MAX);
        if self.object == 0 || self.blocks == 0 {
            return Err(ShapeError::Empty);
        }
        if self.symbol == 0 || !self.symbol.is_multiple_of(u16::from(ALIGNMENT)) {
            return Err(ShapeError::Symbol(self.symbol));
        }
        let per_block = self.all().div_ceil(u64::from(self.blocks));
        if self.object > max || per_block > BLOCK_MAX || self.all() < u64::from(self.blocks) {
            return Err(ShapeError::Length { object: self.object, max });
        }
        Ok(self)
    }

    /// Its FEC object transmission information, common and scheme-specific (RFC 6330 3.3).
    #[must_use]
    pub fn encode(&self) -> [u8; 12] {
        let ([_, _, _, length @ ..], [s0, s1]) =
            (self.object.to_be_bytes(), self.symbol.to_be_bytes());
        let [l0, l1, l2, l3, l4] = length;
        // One sub-block: a block is decoded as a whole.
        [l0, l1, l2, l3, l4, 0, s0, s1, self.blocks, 0, 1, ALIGNMENT]
    }

    /// Reads it, and believes nothing that cannot be.
    ///
    /// # Errors
    /// What cannot.
    pub fn decode(bytes: &[u8; 12]) -> Result<Self, ShapeError> {
        let [l0, l1, l2, l3, l4, _, s0, s1, blocks, n0, n1, alignment] = *bytes;
        if [n0, n1, alignment] != [0, 1, ALIGNMENT] {
            return Err(ShapeError::Unsupported);
        }
        let object = u64::from_be_bytes([0, 0, 0, l0, l1, l2, l3, l4]);
        Self { object, symbol: u16::from_be_bytes([s0, s1]), blocks }.checked()
    }

    /// Bytes of the object.
    #[must_use]
    pub fn object(&self) -> u64 {
        self.object
    }
    /// Bytes of a symbol.
    #[must_use]
    pub fn symbol(&self) -> u16 {
        self.symbol
    }
    /// Source blocks.
    #[must_use]
    pub fn blocks(&self) -> u8 {
        self.blocks
    }
    /// Source symbols of all blocks.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.object.div_ceil(u64::from(self.symbol))
    }
    /// Symbols before a block: the first ones are longer by one (RFC 6330 4.4.1.2).
    fn before(&self, block: u8) -> u64 {
        let (blocks, block) = (u64::from(self.blocks), u64::from(block));
        block * (self.all() / blocks) + block.min(self.all() % blocks)
    }
    /// Source symbols of a block, from 0.
    #[must_use]
    pub fn symbols(&self, block: u8) -> u32 {
        let next = u64::from(block) + 1;
        let (blocks, all) = (u64::from(self.blocks), self.all());
        let after = next * (all / blocks) + next.min(all % blocks);
        // At most 56,403.
        (after - self.before(block)) as u32
    }
    /// Where its bytes are in the object.
    #[must_use]
    pub fn bytes(&self, block: u8) -> Range<u64> {
        let start = self.before(block) * u64::from(self.symbol);
        let end = start + u64::from(self.symbols(block)) * u64::from(self.symbol);
        start..end.min(self.object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_each_other_and_the_last_symbol_may_be_short() {
        for (object, symbol) in [(1, 8), (1_000_000, 1440), (50_000_000, 1440), (1 << 34, 1440)] {
            let shape = Shape::new(object, symbol).unwrap();
            let mut end = 0;
            for block in 0..shape.blocks() {
                let bytes = shape.bytes(block);
                assert_eq!(bytes.start, end);
                let room = u64::from(shape.symbols(block)) * u64::from(symbol);
                assert!(
                    shape.symbols(block) as u64 <= BLOCK_MAX && bytes.end - bytes.start <= room
                );
                end = bytes.end;
            }
            assert_eq!(end, object);
        }
    }

    #[test]
    fn a_big_object_has_more_blocks_and_no_longer_ones() {
        let shape = Shape::new(1 << 30, 1440).unwrap();
        assert!(shape.blocks() == 92 && u64::from(shape.symbols(0)) <= BLOCK);
        assert!(Shape::new(1 << 44, 1440).is_err());
    }

    #[test]
    fn what_is_told_is_understood_and_what_cannot_be_is_refused() {
        let shape = Shape::new(50_000_000, 1443).unwrap();
        assert_eq!(shape.symbol(), 1440);
        let told = shape.encode();
        assert_eq!(Shape::decode(&told), Ok(shape));
        let with = |at: usize, byte| {
            let mut bytes = told;
            bytes[at] = byte;
            Shape::decode(&bytes)
        };
        assert_eq!(with(8, 0), Err(ShapeError::Empty));
        assert_eq!(with(7, 0xa1), Err(ShapeError::Symbol(0x5a1)));
        assert_eq!(with(10, 2), Err(ShapeError::Unsupported));
        assert!(matches!(with(0, 0xff), Err(ShapeError::Length { .. })));
        // 255 blocks of an object with fewer symbols.
        let few = Shape { object: 100, symbol: 8, blocks: 255 };
        assert!(Shape::decode(&few.encode()).is_err());
    }
}
