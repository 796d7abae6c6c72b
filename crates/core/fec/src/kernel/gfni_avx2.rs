//! x86-64 with GFNI and AVX2: a product of 32 bytes by a constant is one instruction.

use core::arch::x86_64::*;

use super::Coefficients;
use super::bit_matrices::{MATRICES, Matrices16, matrices16 as multiplier16};
use super::tiles::tiles;

type Vector = __m256i;
type Split8 = Vector;
type Multiplier16 = Matrices16;
const WIDTH: usize = 32;
// Four rows of it are 8 sums; with 2 pieces of source and a matrix, of 16 registers.
const VECTORS: usize = 2;

tiles!("avx2,gfni");

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn zero() -> Vector {
    _mm256_setzero_si256()
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn xor(a: Vector, b: Vector) -> Vector {
    _mm256_xor_si256(a, b)
}

/// # Safety
/// 32 bytes can be read there.
#[inline]
#[target_feature(enable = "avx2,gfni")]
unsafe fn load(from: *const u8) -> Vector {
    // SAFETY: the caller's; no alignment is needed.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// # Safety
/// 32 bytes can be written there.
#[inline]
#[target_feature(enable = "avx2,gfni")]
unsafe fn store(to: *mut u8, x: Vector) {
    // SAFETY: the caller's; no alignment is needed.
    unsafe { _mm256_storeu_si256(to.cast(), x) }
}

/// A hint: any address will do.
#[inline]
fn prefetch(at: *const u8) {
    // SAFETY: prefetching never faults, and baseline x86-64 has it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn multiplier8(constant: u8) -> Vector {
    _mm256_set1_epi64x(MATRICES[usize::from(constant)] as i64)
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn split8(x: Vector) -> Split8 {
    x
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn product8(multiplier: Vector, x: Split8) -> Vector {
    _mm256_gf2p8affine_epi64_epi8::<0>(x, multiplier)
}

/// Low and high bytes of words; in each 16-byte lane those of `a` first, as [`zip`] expects them.
#[inline]
#[target_feature(enable = "avx2,gfni")]
fn unzip(a: Vector, b: Vector) -> (Vector, Vector) {
    let mask = _mm256_set1_epi16(0xff);
    let low = _mm256_packus_epi16(_mm256_and_si256(a, mask), _mm256_and_si256(b, mask));
    let high = _mm256_packus_epi16(_mm256_srli_epi16::<8>(a), _mm256_srli_epi16::<8>(b));
    (low, high)
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn zip(low: Vector, high: Vector) -> (Vector, Vector) {
    (_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high))
}

#[inline]
#[target_feature(enable = "avx2,gfni")]
fn product16(multiplier: &Multiplier16, low: Split8, high: Split8) -> (Vector, Vector) {
    let [low_to_low, low_to_high, high_to_low, high_to_high] = multiplier.map(|m| m as i64);
    let to_low = xor(
        product8(_mm256_set1_epi64x(low_to_low), low),
        product8(_mm256_set1_epi64x(high_to_low), high),
    );
    let to_high = xor(
        product8(_mm256_set1_epi64x(low_to_high), low),
        product8(_mm256_set1_epi64x(high_to_high), high),
    );
    (to_low, to_high)
}
