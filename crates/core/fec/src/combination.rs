//! Sums of a block's symbols, computed by a node that has only some of them. Each sum helps every
//! node that lacks one of its symbols.
//!
//! A sum names its symbols and a seed, from which [`coefficient`] computes the factors. Parity is
//! itself a sum of the source symbols. So every sum is a row with one coefficient for each source
//! symbol.

use crate::{
    code::{Code, Tables},
    elimination::product,
    kernel::{Active, Coefficients},
};
use alloc::vec;
use alloc::vec::Vec;

/// The factor of a symbol in the sum of a seed: never zero. splitmix64's last steps over both, the
/// remainder by 255 and one more: the same everywhere.
#[must_use]
pub fn coefficient(seed: u8, symbol: u16) -> u8 {
    let mut z = (u64::from(seed) << 16 | u64::from(symbol)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ z >> 31) % 255) as u8 + 1
}

impl Code {
    /// A sum as a row over the `block_len` source symbols. `symbols` are numbers in the block with
    /// their factors: source symbols, then parity from `block_len` on. `None` for a symbol that the
    /// code does not have, and over GF(2^16).
    #[must_use]
    pub fn row(&self, block_len: usize, symbols: &[(usize, u8)]) -> Option<Vec<u8>> {
        let Tables::Gf8 { coefficients, .. } = &*self.tables else { return None };
        if block_len > self.source || symbols.iter().any(|&(s, _)| s >= block_len + self.parity) {
            return None;
        }
        let mut row = vec![0; block_len];
        for &(symbol, factor) in symbols {
            match symbol.checked_sub(block_len) {
                None => row[symbol] ^= factor,
                Some(number) => row.iter_mut().enumerate().for_each(|(column, sum)| {
                    *sum ^= product(factor, coefficients[column * self.parity + number]);
                }),
            }
        }
        Some(row)
    }

    /// Sums of symbols into `out` (overwritten, all of one length): the factor of symbol j in sum r
    /// is at `j * out.len() + r`. Shorter symbols count as padded with zeros. Over GF(2^8) alone.
    ///
    /// # Panics
    /// On a caller's mistake: a symbol longer than the outputs, or outputs of unequal length.
    pub fn combine(&self, factors: &[u8], symbols: &[&[u8]], out: &mut [&mut [u8]]) {
        sum(self.kernel, factors, symbols, out);
    }
}

/// As [`Code::combine`], of symbols that are of no one code: of several objects.
///
/// # Panics
/// As [`Code::combine`].
pub fn combine(factors: &[u8], symbols: &[&[u8]], out: &mut [&mut [u8]]) {
    sum(Active::best(), factors, symbols, out);
}

fn sum(kernel: Active, factors: &[u8], symbols: &[&[u8]], out: &mut [&mut [u8]]) {
    let Some(length) = out.first().map(|sum| sum.len()) else { return };
    assert!(out.iter().all(|sum| sum.len() == length), "sums of unequal length");
    assert!(symbols.iter().all(|symbol| symbol.len() <= length), "symbol above {length}");
    kernel.sum8(Coefficients::new(factors, out.len(), 0), symbols, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Elimination, Field, Matrix};
    use proptest::prelude::*;

    #[test]
    fn factors_are_the_same_everywhere() {
        let some = [(0, 0), (0, 1), (1, 0), (255, 65), (7, 254)].map(|(x, s)| coefficient(x, s));
        assert_eq!(some, [1, 251, 126, 144, 229]);
        assert!((0..=255).all(|seed| (0..255).all(|symbol| coefficient(seed, symbol) != 0)));
    }

    #[test]
    fn a_sum_is_of_the_code_or_nothing() {
        let code = Code::new(Field::Gf8, Matrix::Nrl, 4, 2).unwrap();
        assert_eq!(code.row(3, &[(0, 5), (2, 7)]), Some(vec![5, 0, 7]));
        assert_eq!((code.row(3, &[(5, 1)]), code.row(5, &[(0, 1)])), (None, None));
        let wide = Code::new(Field::Gf16, Matrix::Nrl, 4, 2).unwrap();
        assert_eq!(wide.row(4, &[(0, 1)]), None);
    }

    proptest! {
        /// Who holds a part of a block sends sums of what it holds; who holds another part decodes.
        #[test]
        fn sums_of_parts_mend_what_another_lacks(
            held in prop::collection::btree_set(0..28_usize, 2..28),
            lost in prop::collection::btree_set(0..20_usize, 1..12),
            seed: u8,
        ) {
            let code = Code::new(Field::Gf8, Matrix::Nrl, 24, 8).unwrap();
            let source: Vec<Vec<u8>> =
                (0..20_u8).map(|s| (0..30_u8).map(|b| s.wrapping_mul(31) ^ b).collect()).collect();
            let refs: Vec<&[u8]> = source.iter().map(|symbol| &symbol[..]).collect();
            let mut parity = vec![vec![0; 30]; 8];
            let mut out: Vec<&mut [u8]> = parity.iter_mut().map(|p| &mut p[..]).collect();
            code.encode(&refs, 0, &mut out);
            let all: Vec<&[u8]> = refs.iter().copied().chain(parity.iter().map(|p| &p[..])).collect();
            let lost: Vec<usize> = lost.into_iter().collect();
            let mut elimination = Elimination::new(lost.len());
            let (mut rows, mut sums): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
            for seed in (0..40).map(|n| seed.wrapping_add(n)) {
                let factors: Vec<(usize, u8)> =
                    held.iter().map(|&s| (s, coefficient(seed, s as u16))).collect();
                let row = code.row(20, &factors).unwrap();
                let of_lost: Vec<u8> = lost.iter().map(|&s| row[s]).collect();
                if elimination.add(&of_lost) {
                    let mut sum = vec![0; 30];
                    let factors: Vec<u8> = factors.iter().map(|&(_, factor)| factor).collect();
                    let symbols: Vec<&[u8]> = held.iter().map(|&s| all[s]).collect();
                    code.combine(&factors, &symbols, &mut [&mut sum]);
                    rows.push(row);
                    sums.push(sum);
                }
            }
            let given = held.iter().filter(|&&s| s >= 20 || lost.contains(&s)).count();
            prop_assert_eq!(elimination.rank(), given.min(lost.len()));
            for (unknown, factors) in elimination.determined() {
                let known = (0..20).filter(|s| !lost.contains(s));
                let mut of: Vec<(u8, &[u8])> = known
                    .map(|s| {
                        let sum = factors.iter().zip(&rows);
                        (sum.fold(0, |sum, (&f, row)| sum ^ product(f, row[s])), all[s])
                    })
                    .collect();
                of.extend(factors.iter().copied().zip(sums.iter().map(|sum| &sum[..])));
                let (factors, symbols): (Vec<u8>, Vec<&[u8]>) = of.into_iter().unzip();
                let mut found = vec![0; 30];
                code.combine(&factors, &symbols, &mut [&mut found]);
                prop_assert_eq!(&found, &source[lost[unknown]]);
            }
        }
    }
}
