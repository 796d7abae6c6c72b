//! The two fields. Coefficients are made with `logarithms`, data is multiplied in `kernel`.

pub(crate) mod gf16;
pub(crate) mod gf8;
mod logarithms;

pub(crate) use gf8::Gf8;
pub(crate) use gf16::Gf16;
pub(crate) use logarithms::Logarithms;

/// Field over which a code works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// GF(2^8), polynomial 0x11D: at most 255 symbols in a block.
    Gf8,
    /// GF(2^16), polynomial 0x1100B, little-endian words: at most 65535 symbols in a block.
    Gf16,
}

impl Field {
    /// Most symbols, source and parity together, that a block can have.
    #[must_use]
    pub const fn max_symbols(self) -> usize {
        match self {
            Self::Gf8 => Gf8::ORDER as usize,
            Self::Gf16 => Gf16::ORDER as usize,
        }
    }

    /// Bytes of one field element: a symbol's length must be a multiple of it.
    #[must_use]
    pub const fn element_size(self) -> usize {
        match self {
            Self::Gf8 => 1,
            Self::Gf16 => 2,
        }
    }
}
