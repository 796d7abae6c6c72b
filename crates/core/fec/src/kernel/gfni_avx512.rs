//! x86-64 with GFNI and AVX-512: a product of 64 bytes by a constant is one instruction.

use core::arch::x86_64::*;

use super::Coefficients;
use super::bit_matrices::{MATRICES, Matrices16, matrices16 as multiplier16};
use super::tiles::tiles;

type Vector = __m512i;
type Split8 = Vector;
type Multiplier16 = Matrices16;
const WIDTH: usize = 64;
// Four rows of it are 16 sums; with 4 pieces of source and a matrix, of 32 registers.
const VECTORS: usize = 4;

tiles!("avx512f,avx512bw,gfni");

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn zero() -> Vector {
    _mm512_setzero_si512()
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn xor(a: Vector, b: Vector) -> Vector {
    _mm512_xor_si512(a, b)
}

/// # Safety
/// 64 bytes can be read there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn load(from: *const u8) -> Vector {
    // SAFETY: the caller's; no alignment is needed.
    unsafe { _mm512_loadu_si512(from.cast()) }
}

/// # Safety
/// 64 bytes can be written there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn store(to: *mut u8, x: Vector) {
    // SAFETY: the caller's; no alignment is needed.
    unsafe { _mm512_storeu_si512(to.cast(), x) }
}

/// A hint: any address will do.
#[inline]
fn prefetch(at: *const u8) {
    // SAFETY: prefetching never faults, and baseline x86-64 has it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn multiplier8(constant: u8) -> Vector {
    _mm512_set1_epi64(MATRICES[usize::from(constant)] as i64)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn split8(x: Vector) -> Split8 {
    x
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn product8(multiplier: Vector, x: Split8) -> Vector {
    _mm512_gf2p8affine_epi64_epi8::<0>(x, multiplier)
}

/// Low and high bytes of words; in each 16-byte lane those of `a` first, as [`zip`] expects them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn unzip(a: Vector, b: Vector) -> (Vector, Vector) {
    let mask = _mm512_set1_epi16(0xff);
    let low = _mm512_packus_epi16(_mm512_and_si512(a, mask), _mm512_and_si512(b, mask));
    let high = _mm512_packus_epi16(_mm512_srli_epi16::<8>(a), _mm512_srli_epi16::<8>(b));
    (low, high)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn zip(low: Vector, high: Vector) -> (Vector, Vector) {
    (_mm512_unpacklo_epi8(low, high), _mm512_unpackhi_epi8(low, high))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn product16(multiplier: &Multiplier16, low: Split8, high: Split8) -> (Vector, Vector) {
    let [low_to_low, low_to_high, high_to_low, high_to_high] = multiplier.map(|m| m as i64);
    let to_low = xor(
        product8(_mm512_set1_epi64(low_to_low), low),
        product8(_mm512_set1_epi64(high_to_low), high),
    );
    let to_high = xor(
        product8(_mm512_set1_epi64(low_to_high), low),
        product8(_mm512_set1_epi64(high_to_high), high),
    );
    (to_low, to_high)
}
