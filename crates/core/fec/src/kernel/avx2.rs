//! x86-64 with AVX2: products by look-up of the two nibbles of 32 bytes.

use core::arch::x86_64::*;

use super::Coefficients;
use super::nibbles::{NIBBLES, Nibbles16, nibbles16 as multiplier16};
use super::tiles::tiles;

type Vector = __m256i;
/// Low and high nibbles.
type Split8 = (Vector, Vector);
type Multiplier16 = Nibbles16;
const WIDTH: usize = 32;
// Four rows of it are 8 sums; with 4 of nibbles, two tables and the mask, of 16 registers.
const VECTORS: usize = 2;

tiles!("avx2");

#[inline]
#[target_feature(enable = "avx2")]
fn zero() -> Vector {
    _mm256_setzero_si256()
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: Vector, b: Vector) -> Vector {
    _mm256_xor_si256(a, b)
}

/// # Safety
/// 32 bytes can be read there.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(from: *const u8) -> Vector {
    // SAFETY: the caller's; no alignment is needed.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// # Safety
/// 32 bytes can be written there.
#[inline]
#[target_feature(enable = "avx2")]
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

/// A table in both halves, as the look-up wants it.
#[inline]
#[target_feature(enable = "avx2")]
fn table(entries: &[u8; 16]) -> Vector {
    // SAFETY: 16 bytes are read, and no alignment is needed.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(entries.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx2")]
fn multiplier8(constant: u8) -> (Vector, Vector) {
    let [low, high] = NIBBLES[usize::from(constant)].as_chunks::<16>().0 else { unreachable!() };
    (table(low), table(high))
}

#[inline]
#[target_feature(enable = "avx2")]
fn split8(x: Vector) -> Split8 {
    let mask = _mm256_set1_epi8(0x0f);
    (_mm256_and_si256(x, mask), _mm256_and_si256(_mm256_srli_epi64::<4>(x), mask))
}

#[inline]
#[target_feature(enable = "avx2")]
fn product8((low, high): (Vector, Vector), x: Split8) -> Vector {
    xor(_mm256_shuffle_epi8(low, x.0), _mm256_shuffle_epi8(high, x.1))
}

/// Low and high bytes of words; in each 16-byte lane those of `a` first, as [`zip`] expects them.
#[inline]
#[target_feature(enable = "avx2")]
fn unzip(a: Vector, b: Vector) -> (Vector, Vector) {
    let mask = _mm256_set1_epi16(0xff);
    let low = _mm256_packus_epi16(_mm256_and_si256(a, mask), _mm256_and_si256(b, mask));
    let high = _mm256_packus_epi16(_mm256_srli_epi16::<8>(a), _mm256_srli_epi16::<8>(b));
    (low, high)
}

#[inline]
#[target_feature(enable = "avx2")]
fn zip(low: Vector, high: Vector) -> (Vector, Vector) {
    (_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high))
}

#[inline]
#[target_feature(enable = "avx2")]
fn product16(tables: &Multiplier16, low: Split8, high: Split8) -> (Vector, Vector) {
    let [l0, l1, l2, l3, h0, h1, h2, h3] = tables.each_ref().map(|entries| table(entries));
    let to_low = xor(product8((l0, l1), low), product8((l2, l3), high));
    let to_high = xor(product8((h0, h1), low), product8((h2, h3), high));
    (to_low, to_high)
}
