//! Erasure codes over symbols: bytes in, bytes out.
//!
//! Systematic Reed-Solomon over GF(2^8) and GF(2^16). The default evaluation points are those of
//! NRL's NORM, so that parity is byte for byte what its receivers expect; RFC 5510's are an option.
#![deny(unsafe_code)]

/// Field over which a code works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// GF(2^8), polynomial 0x11D: at most 255 symbols in a block.
    Gf8,
    /// GF(2^16), polynomial 0x1100B, little-endian words: at most 65535 symbols in a block.
    Gf16,
}

/// Evaluation points of the Vandermonde matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Matrix {
    /// 0, 1, a, a^2, … as NRL's NORM has it.
    #[default]
    Nrl,
    /// 1, a, a^2, … as RFC 5510 8.2 has it.
    Rfc5510,
}

/// A systematic code of `source` source and `parity` parity symbols.
///
/// Blocks may be shortened: with fewer source symbols than the code has, the absent ones count as
/// zero and do not travel; parity number `p` is always row `source + p` of the full code.
#[derive(Debug, Clone)]
pub struct Code {
    field: Field,
    matrix: Matrix,
    source: usize,
    parity: usize,
}

/// Why a code cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeError {
    /// No source symbols.
    NoSource,
    /// More symbols than the field has points for.
    TooMany { symbols: usize, limit: usize },
}

/// Why a block cannot be recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoverError {
    /// Fewer symbols than missing ones need.
    TooFew { need: usize, have: usize },
    /// A symbol number is out of range or given twice.
    Symbol(usize),
    /// A buffer's length does not suit (GF(2^16) needs an even length; outputs must be equal).
    Length { expected: usize, found: usize },
}

impl Code {
    /// Makes the code.
    pub fn new(field: Field, matrix: Matrix, source: usize, parity: usize) -> Result<Self, CodeError> {
        Ok(Self { field, matrix, source, parity })
    }
    /// Source symbols of a full block.
    #[must_use]
    pub fn source(&self) -> usize {
        self.source
    }
    /// Parity symbols a block can have.
    #[must_use]
    pub fn parity(&self) -> usize {
        self.parity
    }
    /// Computes parity `first..first + out.len()` of a block into `out` (overwritten; all of one
    /// length, the symbol length). `source` holds the block's source symbols in order; each may be
    /// shorter than the symbol length and counts as padded with zeros.
    pub fn encode(&self, source: &[&[u8]], first: usize, out: &mut [&mut [u8]]) {
        let _ = (source, first, out, self.field, self.matrix);
        todo!()
    }
    /// Recovers missing source symbols.
    ///
    /// `block_len` source symbols make up the block. `source` are those at hand (number, bytes),
    /// `parity` those at hand (parity number from 0, bytes); shorter ones count as zero-padded.
    /// `missing` are the numbers to recover with a buffer each, of the symbol length. All missing
    /// ones of the block must be listed, and at least as many parity symbols given.
    pub fn recover(
        &self,
        block_len: usize,
        source: &[(usize, &[u8])],
        parity: &[(usize, &[u8])],
        missing: &mut [(usize, &mut [u8])],
    ) -> Result<(), RecoverError> {
        let _ = (block_len, source, parity, missing);
        todo!()
    }
}
