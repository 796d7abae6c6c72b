//! Packs bytes into symbols. A symbol goes when it is full, or when it is flushed.

use alloc::vec::Vec;
use fanfare_wire::{STREAM_HEADER, StreamSymbol};

/// The symbol under way.
#[derive(Debug)]
pub(in crate::sender) struct Packer {
    segment: usize,
    /// Room for the header, and the content so far.
    symbol: Vec<u8>,
    /// Where in it the first message begins.
    msg_start: Option<u16>,
    /// The next byte begins a message.
    begins: bool,
    /// Position of its first byte in the stream.
    offset: u64,
}

impl Packer {
    /// For symbols of `segment` bytes of content.
    pub(in crate::sender) fn new(segment: u16) -> Self {
        let symbol = [0; STREAM_HEADER].to_vec();
        Self { segment: usize::from(segment), symbol, msg_start: None, begins: true, offset: 0 }
    }

    fn len(&self) -> usize {
        self.symbol.len() - STREAM_HEADER
    }

    /// Bytes taken so far.
    pub(in crate::sender) fn written(&self) -> u64 {
        self.offset + self.len() as u64
    }

    /// Bytes taken before the symbol under way.
    pub(in crate::sender) fn packed(&self) -> u64 {
        self.offset
    }

    pub(in crate::sender) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(in crate::sender) fn is_full(&self) -> bool {
        self.len() == self.segment
    }

    /// The next byte begins a message.
    pub(in crate::sender) fn mark(&mut self) {
        self.begins = true;
    }

    /// Takes what fits into the symbol under way; returns how much.
    pub(in crate::sender) fn take(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.segment - self.len());
        if count > 0 && core::mem::take(&mut self.begins) && self.msg_start.is_none() {
            self.msg_start = Some(self.len() as u16);
        }
        self.symbol.extend_from_slice(&bytes[..count]);
        count
    }

    /// The header of a symbol that is all of the next bytes, if these can be one without being
    /// gathered here.
    pub(in crate::sender) fn pass(&mut self, bytes: &[u8]) -> Option<[u8; STREAM_HEADER]> {
        if !self.is_empty() || bytes.len() < self.segment {
            return None;
        }
        let start = core::mem::take(&mut self.begins).then_some(0);
        let header = StreamSymbol::header(self.segment as u16, start, self.offset as u32);
        self.offset += self.segment as u64;
        Some(header)
    }

    /// Ends the symbol under way: gives it, filled up to a whole slot with zeros, and its length.
    /// [`Self::begin`] begins the next one.
    pub(in crate::sender) fn end(&mut self) -> (&[u8], usize) {
        let (len, whole) = (self.len(), STREAM_HEADER + self.segment);
        let header = StreamSymbol::header(len as u16, self.msg_start, self.offset as u32);
        self.symbol[..STREAM_HEADER].copy_from_slice(&header);
        self.offset += len as u64;
        self.symbol.resize(whole, 0);
        (&self.symbol, STREAM_HEADER + len)
    }

    /// The symbol under way is stored.
    pub(in crate::sender) fn begin(&mut self) {
        self.symbol.truncate(STREAM_HEADER);
        self.msg_start = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn symbols(packer: &mut Packer, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = packer.take(rest);
            rest = &rest[count..];
            if packer.is_full() {
                flush(packer, out);
            }
        }
    }

    fn flush(packer: &mut Packer, out: &mut Vec<Vec<u8>>) {
        let (symbol, len) = packer.end();
        out.push(symbol[..len].to_vec());
        packer.begin();
    }

    /// The golden bytes of libnorm 1.5.9: 250 times 'A', a mark, "second", a flush, a mark, "third".
    #[test]
    fn symbols_are_those_of_libnorm() {
        let (mut packer, mut out) = (Packer::new(100), Vec::new());
        symbols(&mut packer, &[b'A'; 250], &mut out);
        packer.mark();
        symbols(&mut packer, b"second", &mut out);
        packer.mark();
        flush(&mut packer, &mut out);
        symbols(&mut packer, b"third", &mut out);
        flush(&mut packer, &mut out);
        let headers: Vec<&[u8]> = out.iter().map(|symbol| &symbol[..8]).collect();
        let expected: [&[u8]; 4] = [
            &[0, 0x64, 0, 1, 0, 0, 0, 0],
            &[0, 0x64, 0, 0, 0, 0, 0, 0x64],
            &[0, 0x38, 0, 0x33, 0, 0, 0, 0xc8],
            &[0, 5, 0, 1, 0, 0, 1, 0],
        ];
        assert_eq!(headers, expected);
        assert_eq!(&out[3][8..], b"third");
        assert_eq!((packer.written(), packer.packed()), (261, 261));
    }

    #[test]
    fn whole_symbols_pass_without_being_gathered_and_look_the_same() {
        let (mut one, mut other) = (Packer::new(4), Packer::new(4));
        let mut out = Vec::new();
        symbols(&mut one, b"abcdefgh", &mut out);
        assert_eq!(other.pass(b"abc"), None);
        for symbol in &out {
            assert_eq!(other.pass(b"abcdefgh").unwrap()[..], symbol[..8]);
        }
        assert_eq!(other.take(b"x"), 1);
        assert_eq!(other.pass(b"abcdefgh"), None, "a symbol is under way");
    }

    #[test]
    fn what_fills_up_a_short_symbol_is_zero() {
        let mut packer = Packer::new(4);
        packer.take(b"abcd");
        packer.end();
        packer.begin();
        packer.take(b"e");
        let (slot, len) = packer.end();
        assert_eq!((&slot[8..], len), (&b"e\0\0\0"[..], 9));
        assert_eq!(vec![0; 12].len(), slot.len());
    }
}
