//! Sums of products of symbols by coefficients, for each kind of processor.
//!
//! One operation in two fields: `out[r] = Σ c(r, j) · source[j]`, where shorter sources count as
//! padded with zeros. Every kernel takes several rows in one pass over a source, and is tested
//! against [`portable`], which has no unsafe code.
#![allow(unsafe_code)]

use alloc::vec::Vec;

mod portable;

/// A way to compute. All give the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// 64-bit integers on any processor.
    Portable,
}

impl Kernel {
    /// Every kernel there is, the fastest last.
    const ALL: [Self; 1] = [Self::Portable];

    /// The kernels this machine can run, the fastest last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|kernel| kernel.is_available()).collect()
    }

    /// Whether this machine has the instructions.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
        }
    }
}

/// A kernel that this machine was seen to have: what makes calling it sound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Active(Kernel);

impl Active {
    pub(crate) fn new(kernel: Kernel) -> Option<Self> {
        kernel.is_available().then_some(Self(kernel))
    }

    pub(crate) fn best() -> Self {
        Self(Kernel::available().pop().unwrap_or(Kernel::Portable))
    }

    pub(crate) fn kernel(self) -> Kernel {
        self.0
    }

    /// Over GF(2^8): `out[r] = Σ coefficients(r, j) · sources[j]`. Outputs are of one length, no
    /// source is longer.
    pub(crate) fn sum8(
        self,
        coefficients: Coefficients<'_>,
        sources: &[&[u8]],
        out: &mut [&mut [u8]],
    ) {
        match self.0 {
            Kernel::Portable => portable::sum8(coefficients, sources, out),
        }
    }

    /// The same over GF(2^16), in little-endian words; the outputs' length is even. An odd source
    /// counts as padded too.
    pub(crate) fn sum16(
        self,
        coefficient: impl Fn(usize, usize) -> u16,
        sources: &[&[u8]],
        out: &mut [&mut [u8]],
    ) {
        out.iter_mut().for_each(|out| out.fill(0));
        for (group, out) in out.chunks_mut(ROWS16).enumerate() {
            for (column, source) in sources.iter().enumerate() {
                let mut row = [0; ROWS16];
                for (r, c) in row.iter_mut().enumerate().take(out.len()) {
                    *c = coefficient(group * ROWS16 + r, column);
                }
                match self.0 {
                    Kernel::Portable => portable::add16(&row[..out.len()], source, out),
                }
            }
        }
    }
}

/// Rows of GF(2^16) that take one pass over a source.
const ROWS16: usize = 4;

/// A matrix of GF(2^8): those of one source together, `stride` apart from source to source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coefficients<'a> {
    bytes: &'a [u8],
    stride: usize,
    first: usize,
}

impl<'a> Coefficients<'a> {
    /// Row 0 is row `first` of the `stride` rows in `bytes`.
    pub(crate) fn new(bytes: &'a [u8], stride: usize, first: usize) -> Self {
        Self { bytes, stride, first }
    }

    /// Coefficients of source `column` in rows from `row` on.
    fn of(&self, column: usize, row: usize) -> &'a [u8] {
        &self.bytes[column * self.stride..][..self.stride][self.first + row..]
    }
}
