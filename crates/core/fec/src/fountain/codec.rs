//! Computes symbols from a block, and a block from any of its symbols.

use super::Shape;
use alloc::vec::Vec;
use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder,
    SourceBlockEncoder,
};

fn information(shape: &Shape) -> ObjectTransmissionInformation {
    ObjectTransmissionInformation::deserialize(&shape.encode())
}

/// Makes a block's repair symbols. It holds the block twice.
#[derive(Debug)]
pub struct BlockEncoder {
    encoder: SourceBlockEncoder,
    symbols: u32,
}

impl BlockEncoder {
    /// Prepares the block, whose bytes these are; the end of the object may be short.
    ///
    /// # Panics
    /// When `bytes` is longer than the block.
    #[must_use]
    pub fn new(shape: &Shape, block: u8, mut bytes: Vec<u8>) -> Self {
        let symbols = shape.symbols(block);
        let room = symbols as usize * usize::from(shape.symbol());
        assert!(bytes.len() <= room, "block {block}: {} bytes in {room}", bytes.len());
        bytes.resize(room, 0);
        let encoder = SourceBlockEncoder::new(block, &information(shape), &bytes);
        Self { encoder, symbols }
    }

    /// A symbol beyond the source symbols, by its encoding symbol id.
    ///
    /// # Panics
    /// When that is a source symbol's.
    #[must_use]
    pub fn repair(&self, id: u32) -> Vec<u8> {
        assert!(id >= self.symbols, "{id} is a source symbol");
        let packet = self.encoder.repair_packets(id - self.symbols, 1).pop();
        packet.map(|packet| packet.split().1).unwrap_or_default()
    }
}

/// Gives a block back from its symbols.
#[derive(Debug)]
pub struct BlockDecoder {
    decoder: SourceBlockDecoder,
    block: u8,
    length: usize,
    symbol: usize,
}

impl BlockDecoder {
    /// Without a symbol.
    #[must_use]
    pub fn new(shape: &Shape, block: u8) -> Self {
        let bytes = shape.bytes(block);
        let length = bytes.end - bytes.start;
        let decoder = SourceBlockDecoder::new(block, &information(shape), length);
        Self { decoder, block, length: length as usize, symbol: usize::from(shape.symbol()) }
    }

    /// The block, when these symbols and those before are enough. With as many as it has source
    /// symbols they are 99 times in a hundred, with one more 9,999 in 10,000 (RFC 6330 3.1 refers to
    /// both).
    ///
    /// # Panics
    /// When a symbol has another length than the shape's.
    pub fn decode(&mut self, symbols: impl IntoIterator<Item = (u32, Vec<u8>)>) -> Option<Vec<u8>> {
        let (block, length) = (self.block, self.symbol);
        let packet = |(id, bytes): (u32, Vec<u8>)| {
            assert_eq!(bytes.len(), length, "a symbol's length");
            EncodingPacket::new(PayloadId::new(block, id), bytes)
        };
        let mut bytes = self.decoder.decode(symbols.into_iter().map(packet))?;
        bytes.truncate(self.length);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(bytes: usize) -> Vec<u8> {
        (0..bytes as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }
    fn symbols_from(
        shape: &Shape,
        bytes: &[u8],
        ids: impl Iterator<Item = u32>,
    ) -> Vec<(u32, Vec<u8>)> {
        let encoder = BlockEncoder::new(shape, 0, bytes.to_vec());
        let size = usize::from(shape.symbol());
        let symbol = |id: u32| {
            if id >= shape.symbols(0) {
                return (id, encoder.repair(id));
            }
            let start = id as usize * size;
            let mut symbol = bytes[start..bytes.len().min(start + size)].to_vec();
            symbol.resize(size, 0);
            (id, symbol)
        };
        ids.map(symbol).collect()
    }

    #[test]
    fn a_block_comes_back_from_any_of_its_symbols_a_few_more_than_it_has() {
        let bytes = content(99_990);
        let shape = Shape::new(bytes.len() as u64, 1000).unwrap();
        let all = shape.symbols(0);
        assert_eq!(all, 100);
        for ids in [0..all, 30..130, 1_000_000..1_000_102] {
            let mut decoder = BlockDecoder::new(&shape, 0);
            let given = symbols_from(&shape, &bytes, ids.clone());
            assert_eq!(decoder.decode(given.clone().into_iter().take(99)), None);
            assert_eq!(decoder.decode(given.into_iter().skip(99)), Some(bytes.clone()), "{ids:?}");
        }
    }

    #[test]
    fn the_last_symbols_number_is_as_good_as_the_first() {
        let bytes = content(5000);
        let shape = Shape::new(5000, 1000).unwrap();
        let last = (1 << 24) - 1;
        let given = symbols_from(&shape, &bytes, last - 7..=last);
        assert_eq!(BlockDecoder::new(&shape, 0).decode(given), Some(bytes));
    }

    #[test]
    fn at_the_median_no_more_symbols_are_needed_than_the_block_has() {
        let bytes = content(20_000);
        let shape = Shape::new(20_000, 100).unwrap();
        let mut extra: Vec<usize> = (0..101_u32)
            .map(|run| {
                let mut decoder = BlockDecoder::new(&shape, 0);
                let ids = (0..300).map(|n| 1000 * run + 3 * n + 7);
                let given = symbols_from(&shape, &bytes, ids);
                let needed =
                    given.into_iter().position(|symbol| decoder.decode([symbol]).is_some());
                needed.unwrap() + 1 - shape.symbols(0) as usize
            })
            .collect();
        extra.sort_unstable();
        // One of 200 is half a percent; nobody needs four.
        assert!(extra[50] == 0 && extra[100] <= 3, "{extra:?}");
    }
}
