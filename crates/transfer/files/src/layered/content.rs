//! Symbols of a file: source symbols are read, repair symbols made.

use std::{io, sync::Arc};

use crate::content::read_at::ReadAt;
use fanfare_fec::fountain::{BlockEncoder, Shape};
use fanfare_proto::congestion::layered::Symbol;

/// A file, ready for any of its symbols.
#[derive(Debug)]
pub(super) struct Content {
    shape: Shape,
    file: Arc<dyn ReadAt>,
    encoders: Vec<BlockEncoder>,
}

impl Content {
    /// Reads all of it and prepares its blocks: that is done by the time that the first repair symbol
    /// is wanted, and then at any time without notice.
    pub(super) fn prepare(shape: Shape, file: Arc<dyn ReadAt>) -> io::Result<Self> {
        let mut encoders = Vec::with_capacity(usize::from(shape.blocks()));
        for block in 0..shape.blocks() {
            let range = shape.bytes(block);
            let mut bytes = vec![0; (range.end - range.start) as usize];
            fill(&*file, range.start, &mut bytes)?;
            encoders.push(BlockEncoder::new(&shape, block, bytes));
        }
        Ok(Self { shape, file, encoders })
    }

    /// Appends a symbol.
    pub(super) fn append(&self, symbol: Symbol, out: &mut Vec<u8>) -> io::Result<()> {
        if symbol.id >= self.shape.symbols(symbol.block) {
            out.extend(self.encoders[usize::from(symbol.block)].repair(symbol.id));
            return Ok(());
        }
        let (range, size) = (self.shape.bytes(symbol.block), u64::from(self.shape.symbol()));
        let start = range.start + u64::from(symbol.id) * size;
        let at = out.len();
        // The last one is filled up with zeros.
        out.resize(at + size as usize, 0);
        let end = (start + size).min(range.end);
        fill(&*self.file, start, &mut out[at..at + (end - start) as usize])
    }
}

fn fill(file: &dyn ReadAt, offset: u64, into: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < into.len() {
        match file.read_at(&mut into[filled..], offset + filled as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_source_symbol_is_filled_up_and_repair_has_the_same_length() {
        let bytes: Vec<u8> = (1..=20).collect();
        let shape = Shape::new(20, 16).unwrap();
        let content = Content::prepare(shape, Arc::new(bytes)).unwrap();
        let symbol = |id| {
            let mut out = vec![0xff];
            content.append(Symbol { block: 0, id }, &mut out).unwrap();
            out.split_off(1)
        };
        assert_eq!(symbol(0), (1..=16).collect::<Vec<u8>>());
        assert_eq!(symbol(1), [&[17, 18, 19, 20][..], &[0; 12]].concat());
        assert_eq!(symbol(1000).len(), 16);
    }

    #[test]
    fn a_file_that_became_shorter_is_an_error_and_no_symbol() {
        let shape = Shape::new(20, 16).unwrap();
        assert!(Content::prepare(shape, Arc::new(vec![0_u8; 19])).is_err());
    }
}
