//! AArch64 with NEON: products by look-up of the two nibbles of 16 bytes.

use core::arch::aarch64::*;

use super::Coefficients;
use super::nibbles::{NIBBLES, Nibbles16, nibbles16 as multiplier16};
use super::tiles::tiles;

type Vector = uint8x16_t;
/// Low and high nibbles.
type Split8 = (Vector, Vector);
type Multiplier16 = Nibbles16;
const WIDTH: usize = 16;
// Four rows of it are 16 sums; with two of nibbles and two tables, of 32 registers.
const VECTORS: usize = 4;

tiles!("neon");

#[inline]
#[target_feature(enable = "neon")]
fn zero() -> Vector {
    vdupq_n_u8(0)
}

#[inline]
#[target_feature(enable = "neon")]
fn xor(a: Vector, b: Vector) -> Vector {
    veorq_u8(a, b)
}

/// # Safety
/// 16 bytes can be read there.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn load(from: *const u8) -> Vector {
    // SAFETY: the caller's; no alignment is needed.
    unsafe { vld1q_u8(from) }
}

/// # Safety
/// 16 bytes can be written there.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn store(to: *mut u8, x: Vector) {
    // SAFETY: the caller's; no alignment is needed.
    unsafe { vst1q_u8(to, x) }
}

/// Nothing: Rust has no stable prefetch for this processor.
#[inline]
fn prefetch(_: *const u8) {}

#[inline]
#[target_feature(enable = "neon")]
fn table(entries: &[u8; 16]) -> Vector {
    // SAFETY: 16 bytes are read.
    unsafe { load(entries.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn multiplier8(constant: u8) -> (Vector, Vector) {
    let [low, high] = NIBBLES[usize::from(constant)].as_chunks::<16>().0 else { unreachable!() };
    (table(low), table(high))
}

#[inline]
#[target_feature(enable = "neon")]
fn split8(x: Vector) -> Split8 {
    (vandq_u8(x, vdupq_n_u8(0x0f)), vshrq_n_u8::<4>(x))
}

#[inline]
#[target_feature(enable = "neon")]
fn product8((low, high): (Vector, Vector), x: Split8) -> Vector {
    xor(vqtbl1q_u8(low, x.0), vqtbl1q_u8(high, x.1))
}

/// Low and high bytes of words.
#[inline]
#[target_feature(enable = "neon")]
fn unzip(a: Vector, b: Vector) -> (Vector, Vector) {
    (vuzp1q_u8(a, b), vuzp2q_u8(a, b))
}

#[inline]
#[target_feature(enable = "neon")]
fn zip(low: Vector, high: Vector) -> (Vector, Vector) {
    (vzip1q_u8(low, high), vzip2q_u8(low, high))
}

#[inline]
#[target_feature(enable = "neon")]
fn product16(tables: &Multiplier16, low: Split8, high: Split8) -> (Vector, Vector) {
    let [l0, l1, l2, l3, h0, h1, h2, h3] = tables.each_ref().map(|entries| table(entries));
    let to_low = xor(product8((l0, l1), low), product8((l2, l3), high));
    let to_high = xor(product8((h0, h1), low), product8((h2, h3), high));
    (to_low, to_high)
}
