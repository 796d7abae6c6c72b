//! The description of a piece of a stream, and its bytes without the blocks that are all zeros.

use minicbor::{Decode, Encode};

/// Most bytes of a piece: as many as a receiver keeps in memory of an object that it does not know
/// yet ([`crate::content::manifest::MANIFEST_MAX`]), so that a piece needs no file of its own.
pub const PIECE_MAX: usize = 256 << 10;
/// Zeros are left out by blocks of so many bytes: the page of file systems. 64 of them are a piece.
pub const BLOCK: usize = 4 << 10;

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Piece {
    /// Which one it is; none is left out.
    #[n(0)]
    pub number: u64,
    /// Where its bytes begin in the stream. What lies between the piece before and this one is zeros.
    #[n(1)]
    pub offset: u64,
    /// How many there are, zeros included.
    #[n(2)]
    pub len: u64,
    /// Which of its blocks are all zeros and do not travel, lowest bit first.
    #[n(3)]
    pub zeros: u64,
    /// Said with the last piece.
    #[n(4)]
    pub end: Option<End>,
    /// The name of the stream; said with the first and the last piece.
    #[n(5)]
    pub name: Option<String>,
    /// Length of the stream, as far as its sender knows; said with the first piece. Older
    /// senders do not say it, older receivers do not read it.
    #[n(6)]
    pub size: Option<u64>,
}

/// What the whole stream was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct End {
    /// Bytes.
    #[n(0)]
    pub total: u64,
    /// BLAKE3 hash.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub hash: [u8; 32],
}

impl Piece {
    /// Whether what it says of itself can be, with `size` bytes that travel.
    pub fn is_sound(&self, size: u64) -> bool {
        let blocks = self.len.div_ceil(BLOCK as u64);
        let end = self.offset.checked_add(self.len);
        let within = self.end.is_none_or(|whole| end.is_some_and(|end| end <= whole.total));
        self.len <= PIECE_MAX as u64
            && end.is_some()
            && within
            && (blocks == 64 || self.zeros >> blocks == 0)
            && self.travelling() == size
    }

    /// Bytes that travel.
    fn travelling(&self) -> u64 {
        self.runs().filter(|run| !run.zeros).map(|run| run.len).sum()
    }

    /// Its blocks, neighbours of one kind joined, in order.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let blocks = self.len.div_ceil(BLOCK as u64).min(64);
        let mut number = 0;
        std::iter::from_fn(move || {
            let zeros = (number < blocks).then(|| self.is_zero(number))?;
            let start = number * BLOCK as u64;
            while number < blocks && self.is_zero(number) == zeros {
                number += 1;
            }
            let len = (number * BLOCK as u64).min(self.len) - start;
            Some(Run { offset: self.offset + start, len, zeros })
        })
    }

    fn is_zero(&self, block: u64) -> bool {
        self.zeros >> block & 1 == 1
    }
}

/// Bytes of a piece that are written at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// In the stream.
    pub offset: u64,
    /// How many.
    pub len: u64,
    /// They are all zeros, and did not travel.
    pub zeros: bool,
}

/// The bytes that travel of a piece, and which of its blocks do not.
pub fn without_zeros(bytes: &[u8]) -> (Vec<u8>, u64) {
    let (mut kept, mut zeros) = (Vec::with_capacity(bytes.len()), 0);
    for (number, block) in bytes.chunks(BLOCK).enumerate().take(64) {
        if block.iter().fold(0, |all, byte| all | byte) == 0 {
            zeros |= 1 << number;
        } else {
            kept.extend_from_slice(block);
        }
    }
    (kept, zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(bytes: &[u8]) -> (Piece, Vec<u8>) {
        let (kept, zeros) = without_zeros(bytes);
        let len = bytes.len() as u64;
        (Piece { number: 7, offset: 1 << 40, len, zeros, end: None, name: None, size: None }, kept)
    }

    #[test]
    fn blocks_of_zeros_do_not_travel_and_come_back_in_their_place() {
        let mut bytes = vec![0; PIECE_MAX - 5];
        bytes[BLOCK] = 1;
        bytes[3 * BLOCK - 1] = 2;
        bytes[PIECE_MAX - 6] = 3;
        let (piece, kept) = piece(&bytes);
        assert_eq!(kept.len(), 3 * BLOCK - 5);
        assert!(piece.is_sound(kept.len() as u64) && !piece.is_sound(kept.len() as u64 + 1));
        let (mut back, mut at) = (vec![0; bytes.len()], 0);
        for run in piece.runs().filter(|run| !run.zeros) {
            let (start, len) = ((run.offset - piece.offset) as usize, run.len as usize);
            back[start..start + len].copy_from_slice(&kept[at..at + len]);
            at += len;
        }
        assert!(back == bytes);
        assert_eq!(piece.runs().map(|run| run.len).sum::<u64>(), piece.len);
    }

    #[test]
    fn a_piece_that_cannot_be_is_not_sound() {
        let (good, kept) = piece(&vec![1; 3 * BLOCK]);
        let size = kept.len() as u64;
        assert!(good.is_sound(size));
        let end = End { total: 5, hash: [0; 32] };
        for wrong in [
            Piece { len: 1 << 60, ..good.clone() },
            Piece { offset: u64::MAX, ..good.clone() },
            Piece { zeros: 1 << 3, ..good.clone() },
            Piece { zeros: 1, ..good.clone() },
            Piece { end: Some(end), ..good.clone() },
        ] {
            assert!(!wrong.is_sound(size), "{wrong:?}");
        }
    }
}
