//! Any processor, by 64-bit integers; compilers make vectors of it where they can.
//!
//! A product by c is the sum of x·a^b over the bits b set in c. The chain x, x·a, x·a^2, … is made
//! once for a piece of source and serves all rows; a row takes what its bits select.

use super::Coefficients;
use crate::field::gf8;
use crate::field::gf16;

/// Rows that take one pass over a source.
const ROWS: usize = 4;
/// 64-bit integers in a piece.
const LANES: usize = 4;
const PIECE: usize = 8 * LANES;

pub(super) fn sum8(coefficients: Coefficients<'_>, sources: &[&[u8]], out: &mut [&mut [u8]]) {
    out.iter_mut().for_each(|out| out.fill(0));
    for (group, out) in out.chunks_mut(ROWS).enumerate() {
        for (column, source) in sources.iter().enumerate() {
            let row = coefficients.of(column, group * ROWS);
            match out.len() {
                ROWS => add::<ROWS, 8>(|r| row[r].into(), double8, source, out),
                rows => (0..rows).for_each(|r| {
                    add::<1, 8>(|_| row[r].into(), double8, source, &mut out[r..=r]);
                }),
            }
        }
    }
}

/// Adds `row[r] · source` to `out[r]`.
pub(super) fn add16(row: &[u16], source: &[u8], out: &mut [&mut [u8]]) {
    match out.len() {
        ROWS => add::<ROWS, 16>(|r| row[r], double16, source, out),
        rows => (0..rows).for_each(|r| {
            add::<1, 16>(|_| row[r], double16, source, &mut out[r..=r]);
        }),
    }
}

/// a times each byte.
fn double8(x: u64) -> u64 {
    const TOP: u64 = u64::from_ne_bytes([0x80; 8]);
    let carries = (x & TOP) >> 7;
    ((x & !TOP) << 1) ^ (carries * gf8::REDUCTION as u64)
}

/// a times each 16-bit word.
fn double16(x: u64) -> u64 {
    const TOP: u64 = 0x8000_8000_8000_8000;
    let carries = (x & TOP) >> 15;
    ((x & !TOP) << 1) ^ (carries * gf16::REDUCTION as u64)
}

/// Adds `coefficient(r) · source` to `out[r]` for `R` rows of elements of `BITS` bits.
fn add<const R: usize, const BITS: usize>(
    coefficient: impl Fn(usize) -> u16,
    double: impl Fn(u64) -> u64 + Copy,
    source: &[u8],
    out: &mut [&mut [u8]],
) {
    let mut select = [[0u64; R]; BITS];
    for (bit, select) in select.iter_mut().enumerate() {
        for (r, select) in select.iter_mut().enumerate() {
            *select = u64::from(coefficient(r) >> bit & 1).wrapping_neg();
        }
    }
    let (pieces, tail) = source.as_chunks::<PIECE>();
    for (i, piece) in pieces.iter().enumerate() {
        let sums = products(piece, &select, double);
        for (out, sum) in out.iter_mut().zip(&sums) {
            accumulate(&mut out[i * PIECE..][..PIECE], sum);
        }
    }
    if !tail.is_empty() {
        let mut piece = [0; PIECE];
        piece[..tail.len()].copy_from_slice(tail);
        let sums = products(&piece, &select, double);
        let at = pieces.len() * PIECE;
        for (out, sum) in out.iter_mut().zip(&sums) {
            let end = out.len().min(at + PIECE);
            accumulate(&mut out[at..end], sum);
        }
    }
}

#[inline(always)]
fn products<const R: usize, const BITS: usize>(
    piece: &[u8; PIECE],
    select: &[[u64; R]; BITS],
    double: impl Fn(u64) -> u64,
) -> [[u64; LANES]; R] {
    let mut chain = [0; LANES];
    for (lane, bytes) in chain.iter_mut().zip(piece.as_chunks::<8>().0) {
        *lane = u64::from_le_bytes(*bytes);
    }
    let mut sums = [[0; LANES]; R];
    for select in select {
        for (sums, select) in sums.iter_mut().zip(select) {
            for (sum, x) in sums.iter_mut().zip(&chain) {
                *sum ^= x & select;
            }
        }
        chain = chain.map(&double);
    }
    sums
}

#[inline(always)]
fn accumulate(out: &mut [u8], sum: &[u64; LANES]) {
    let (words, tail) = out.as_chunks_mut::<8>();
    let whole = words.len();
    for (word, sum) in words.iter_mut().zip(sum) {
        *word = (u64::from_le_bytes(*word) ^ sum).to_le_bytes();
    }
    if let Some(sum) = sum.get(whole) {
        tail.iter_mut().zip(sum.to_le_bytes()).for_each(|(byte, add)| *byte ^= add);
    }
}
