//! How an object is cut into source blocks and symbols (RFC 5052 9.1).
//!
//! Blocks have nearly the same size: the first `large_blocks` have `large` symbols, the others one
//! fewer. Only the last symbol of the object may be short.

use core::ops::Range;
use fanfare_wire::{EncodingSymbolId, FecPayloadId, SourceBlockNumber};

/// The structure of one object: a function of its size, segment size and block length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// Bytes of the object.
    pub object_size: u64,
    /// Bytes of a full segment.
    pub segment_size: u16,
    /// Number of blocks (0 for an empty object).
    pub blocks: u32,
    /// Blocks with one symbol more than the rest; they come first.
    large_blocks: u32,
    /// Symbols of a small block.
    small: u32,
    /// Symbols in all.
    symbols: u64,
}

/// Sizes that cannot be partitioned within the block-number space.
#[allow(missing_docs, reason = "each variant's doc names its fields")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionError {
    /// Segment size or block length is zero.
    Zero,
    /// More blocks than block numbers.
    TooManyBlocks { blocks: u64, limit: u64 },
}

impl core::fmt::Display for PartitionError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Zero => write!(f, "segment size and block length must not be zero"),
            Self::TooManyBlocks { blocks, limit } => {
                write!(f, "object needs {blocks} blocks, {limit} can be numbered")
            }
        }
    }
}

impl core::error::Error for PartitionError {}

/// A run of source symbols by blocks: whole ones, and at most two of which it has a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover {
    /// Blocks of which it has all.
    pub whole: Range<u32>,
    /// Blocks of which it has a part: which, and the symbols of it.
    pub parts: [Option<(u32, Range<u16>)>; 2],
}

impl Partition {
    /// Cuts `object_size` bytes; `block_limit` is the size of the block-number space.
    pub fn new(
        object_size: u64,
        segment_size: u16,
        max_block_len: u16,
        block_limit: u64,
    ) -> Result<Self, PartitionError> {
        if segment_size == 0 || max_block_len == 0 {
            return Err(PartitionError::Zero);
        }
        let symbols = object_size.div_ceil(u64::from(segment_size));
        let blocks = symbols.div_ceil(u64::from(max_block_len));
        if blocks > block_limit || blocks > u64::from(u32::MAX) {
            return Err(PartitionError::TooManyBlocks { blocks, limit: block_limit });
        }
        let small = symbols.checked_div(blocks).unwrap_or(0);
        Ok(Self {
            object_size,
            segment_size,
            blocks: blocks as u32,
            large_blocks: (symbols - small * blocks) as u32,
            small: small as u32,
            symbols,
        })
    }

    /// The structure of a stream: full blocks of `block_len` symbols of `slot` bytes, header included,
    /// without an end.
    #[must_use]
    pub fn stream(slot: u16, block_len: u16) -> Self {
        Self {
            object_size: u64::MAX,
            segment_size: slot,
            blocks: u32::MAX,
            large_blocks: 0,
            small: u32::from(block_len),
            symbols: u64::from(u32::MAX) * u64::from(block_len),
        }
    }

    /// Source symbols of `block`; 0 when there is no such block.
    #[must_use]
    pub fn block_len(&self, block: SourceBlockNumber) -> u16 {
        match block.0 {
            b if b >= self.blocks => 0,
            b if b < self.large_blocks => (self.small + 1) as u16,
            _ => self.small as u16,
        }
    }

    /// Source symbols of the object.
    #[must_use]
    pub fn symbols(&self) -> u64 {
        self.symbols
    }

    /// Where a source symbol lies in the object, and how long it is. `None` when there is none such.
    #[must_use]
    pub fn span(&self, block: SourceBlockNumber, symbol: u16) -> Option<(u64, usize)> {
        if symbol >= self.block_len(block) {
            return None;
        }
        let b = u64::from(block.0);
        let index =
            b * u64::from(self.small) + b.min(u64::from(self.large_blocks)) + u64::from(symbol);
        let offset = index * u64::from(self.segment_size);
        Some((offset, (self.object_size - offset).min(u64::from(self.segment_size)) as usize))
    }

    /// Where `block` begins in the object; its end for a block beyond the last.
    #[must_use]
    pub fn block_start(&self, block: u32) -> u64 {
        let b = u64::from(block.min(self.blocks));
        let symbols = b * u64::from(self.small) + b.min(u64::from(self.large_blocks));
        (symbols * u64::from(self.segment_size)).min(self.object_size)
    }

    /// Source symbols, counted over the object, that lie wholly within `len` bytes at `offset`.
    pub fn symbols_within(&self, offset: u64, len: u64) -> Range<u64> {
        let segment = u64::from(self.segment_size);
        let end = match offset.saturating_add(len) {
            end if end >= self.object_size => self.symbols,
            end => end / segment,
        };
        offset.div_ceil(segment)..end
    }

    /// Source symbols, counted over the object, that `len` bytes at `offset` touch.
    pub fn symbols_touching(&self, offset: u64, len: u64) -> Range<u64> {
        let segment = u64::from(self.segment_size);
        let end = offset.saturating_add(len).min(self.object_size);
        offset / segment..if offset < end { end.div_ceil(segment) } else { 0 }
    }

    /// A run of symbols, counted over the object, by blocks.
    pub fn cover(&self, symbols: Range<u64>) -> Cover {
        if symbols.start >= symbols.end {
            return Cover { whole: 0..0, parts: [None, None] };
        }
        let ((first, from), (last, to)) = (self.locate(symbols.start), self.locate(symbols.end));
        let starts_within = from > 0;
        let head_end = if first == last { to } else { self.block_len(SourceBlockNumber(first)) };
        let head = starts_within.then_some((first, from..head_end));
        let tail = (to > 0 && !(starts_within && first == last)).then_some((last, 0..to));
        let start = first + u32::from(starts_within);
        Cover { whole: start..last.max(start), parts: [head, tail] }
    }

    /// Block and symbol of the `index`th source symbol; the block after the last for one beyond.
    fn locate(&self, index: u64) -> (u32, u16) {
        let index = index.min(self.symbols);
        let (large, small) = (u64::from(self.small) + 1, u64::from(self.small));
        let in_large = u64::from(self.large_blocks) * large;
        let (block, symbol) = match index.checked_sub(in_large) {
            None => (index / large, index % large),
            Some(0) => (u64::from(self.large_blocks), 0),
            Some(rest) => (u64::from(self.large_blocks) + rest / small, rest % small),
        };
        (block as u32, symbol as u16)
    }

    /// The last source symbol of the object (block 0, symbol 0 when it is empty).
    #[must_use]
    pub fn last(&self) -> FecPayloadId {
        let block = SourceBlockNumber(self.blocks.saturating_sub(1));
        let block_len = self.block_len(block);
        FecPayloadId { block, block_len, symbol: EncodingSymbolId(block_len.saturating_sub(1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(size: u64, segment: u16, block: u16) -> Partition {
        Partition::new(size, segment, block, 1 << 24).unwrap()
    }

    #[test]
    fn blocks_differ_by_at_most_one_symbol_and_cover_the_object() {
        for (size, segment, block) in
            [(1, 1400, 64), (400_000, 1000, 16), (99_999, 7, 5), (64_000, 1000, 64)]
        {
            let p = cut(size, segment, block);
            let mut next = 0;
            for b in 0..p.blocks {
                let len = p.block_len(SourceBlockNumber(b));
                assert!(len <= block && len >= p.block_len(SourceBlockNumber(p.blocks - 1)));
                for s in 0..len {
                    let (offset, bytes) = p.span(SourceBlockNumber(b), s).unwrap();
                    assert_eq!(offset, next);
                    next += bytes as u64;
                }
            }
            assert_eq!(next, size);
        }
    }

    #[test]
    fn the_reference_example_of_400000_bytes_has_25_blocks_of_16() {
        let p = cut(400_000, 1000, 16);
        assert_eq!((p.blocks, p.block_len(SourceBlockNumber(24))), (25, 16));
        assert_eq!(p.last().symbol, EncodingSymbolId(15));
    }

    #[test]
    fn a_run_of_symbols_is_covered_once_by_whole_blocks_and_parts() {
        for (size, segment, block) in [(1, 10, 4), (995, 10, 4), (720, 10, 8), (999, 7, 5)] {
            let p = cut(size, segment, block);
            let starts: std::vec::Vec<(u32, u16)> = (0..p.blocks)
                .flat_map(|b| (0..p.block_len(SourceBlockNumber(b))).map(move |s| (b, s)))
                .collect();
            for first in 0..starts.len() {
                for end in first..=starts.len() {
                    let cover = p.cover(first as u64..end as u64);
                    let mut all: std::vec::Vec<(u32, u16)> = cover
                        .whole
                        .flat_map(|b| (0..p.block_len(SourceBlockNumber(b))).map(move |s| (b, s)))
                        .collect();
                    for (block, part) in cover.parts.into_iter().flatten() {
                        assert!(part.len() < usize::from(p.block_len(SourceBlockNumber(block))));
                        all.extend(part.map(|symbol| (block, symbol)));
                    }
                    all.sort_unstable();
                    assert_eq!(all, starts[first..end], "{size} {first} {end}");
                }
            }
            assert_eq!((p.block_start(0), p.block_start(p.blocks)), (0, size));
        }
    }

    #[test]
    fn a_range_of_bytes_holds_fewer_symbols_than_it_touches() {
        let p = cut(95, 10, 4);
        assert_eq!((p.symbols_within(5, 20), p.symbols_touching(5, 20)), (1..2, 0..3));
        assert_eq!((p.symbols_within(90, 5), p.symbols_touching(94, 1)), (9..10, 9..10));
        assert_eq!(
            (p.symbols_within(0, u64::MAX), p.symbols_touching(0, u64::MAX)),
            (0..10, 0..10)
        );
        assert!(p.symbols_within(11, 8).is_empty() && p.symbols_touching(10, 0).is_empty());
        assert!(p.symbols_touching(95, 9).is_empty() && p.symbols_within(200, 9).is_empty());
    }

    #[test]
    fn an_empty_object_has_no_blocks() {
        let p = cut(0, 1400, 64);
        assert_eq!((p.blocks, p.symbols(), p.span(SourceBlockNumber(0), 0)), (0, 0, None));
    }

    #[test]
    fn too_many_blocks_are_refused_with_their_number() {
        assert_eq!(
            Partition::new(1 << 30, 1, 1, 1 << 24),
            Err(PartitionError::TooManyBlocks { blocks: 1 << 30, limit: 1 << 24 })
        );
    }
}
