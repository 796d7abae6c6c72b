//! Sums of products of symbols by coefficients, for each kind of processor.
//!
//! One operation in two fields: `out[r] = Σ c(r, j) · source[j]`, where shorter sources count as
//! padded with zeros. Every kernel takes several rows in one pass over a source, and is tested
//! against [`portable`], which has no unsafe code. `coefficients` are the factors.
#![allow(unsafe_code)]

use alloc::vec::Vec;
pub(crate) use coefficients::Coefficients;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod bit_matrices;
mod coefficients;
#[cfg(target_arch = "x86_64")]
mod gfni_avx2;
#[cfg(target_arch = "x86_64")]
mod gfni_avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod nibbles;
mod portable;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tiles;

/// A way to compute. All give the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// 64-bit integers on any processor.
    Portable,
    /// AArch64 with NEON.
    Neon,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with AVX2 and GFNI.
    GfniAvx2,
    /// x86-64 with AVX-512 (F and BW) and GFNI.
    GfniAvx512,
}

/// Whether the processor has all these features: asked at run time, and remembered, by std; without
/// std, what the compiler was told.
#[cfg(target_arch = "x86_64")]
macro_rules! has {
    ($($feature:tt),+) => {{
        #[cfg(feature = "std")]
        let has = $(std::arch::is_x86_feature_detected!($feature))&&+;
        #[cfg(not(feature = "std"))]
        let has = $(cfg!(target_feature = $feature))&&+;
        has
    }};
}

impl Kernel {
    /// Every kernel there is, the fastest last.
    const ALL: [Self; 5] =
        [Self::Portable, Self::Neon, Self::Avx2, Self::GfniAvx2, Self::GfniAvx512];

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
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => has!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::GfniAvx2 => has!("avx2", "gfni"),
            #[cfg(target_arch = "x86_64")]
            Self::GfniAvx512 => has!("avx512f", "avx512bw", "gfni"),
            // Part of every AArch64 target that has floating point.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => cfg!(target_feature = "neon"),
            #[allow(unreachable_patterns, reason = "the kernels of other processors")]
            _ => false,
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
        let fastest = Kernel::ALL.into_iter().rev().find(|kernel| kernel.is_available());
        Self(fastest.unwrap_or(Kernel::Portable))
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
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Active` holds a kernel whose instructions this machine has.
            Kernel::Avx2 => unsafe { avx2::sum8(coefficients, sources, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kernel::GfniAvx2 => unsafe { gfni_avx2::sum8(coefficients, sources, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kernel::GfniAvx512 => unsafe { gfni_avx512::sum8(coefficients, sources, out) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Kernel::Neon => unsafe { neon::sum8(coefficients, sources, out) },
            _ => portable::sum8(coefficients, sources, out),
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
                self.add16(&row[..out.len()], source, out);
            }
        }
    }

    /// Adds `row[r] · source` to `out[r]`, for up to [`ROWS16`] rows.
    fn add16(self, row: &[u16], source: &[u8], out: &mut [&mut [u8]]) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Active` holds a kernel whose instructions this machine has.
            Kernel::Avx2 => unsafe { avx2::add16(row, source, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kernel::GfniAvx2 => unsafe { gfni_avx2::add16(row, source, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kernel::GfniAvx512 => unsafe { gfni_avx512::add16(row, source, out) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Kernel::Neon => unsafe { neon::add16(row, source, out) },
            _ => portable::add16(row, source, out),
        }
    }
}

/// Rows of GF(2^16) that take one pass over a source.
const ROWS16: usize = 4;

#[cfg(test)]
mod tests;
