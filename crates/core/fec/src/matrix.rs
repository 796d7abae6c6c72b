//! Evaluation points, and the coefficients that follow from them.
//!
//! A block is a polynomial of degree below k whose value at point i is symbol i. Parity t is its
//! value at point t, so its coefficients over the source are Lagrange's:
//! `c(t, j) = M(x_t) / ((x_t - x_j) M'(x_j))` with `M(x) = (x - x_0) … (x - x_{k-1})`.
//! The points being successive powers of a, each `M'(x_j)` and `M(x_t)` follows from the one before
//! with two factors; so a code costs O(k + parity) to make and a coefficient one look-up, for any k.

use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::field::Logarithms;

/// Evaluation points of the Vandermonde matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Matrix {
    /// 0, 1, a, a^2, … as NRL's NORM has it.
    #[default]
    Nrl,
    /// 1, a, a^2, … as RFC 5510 8.2 has it.
    Rfc5510,
}

/// The points of a code and the products over its source points.
#[derive(Debug, Clone)]
pub(crate) struct Points<F> {
    matrix: Matrix,
    source: usize,
    /// Logarithm of `M'(x_i)` for a source point, of `M(x_i)` for a parity point.
    products: Vec<u16>,
    field: PhantomData<F>,
}

impl<F: Logarithms> Points<F> {
    /// `source` at least 1; `source + parity` at most the field's order.
    pub(crate) fn new(matrix: Matrix, source: usize, parity: usize) -> Self {
        let products = match matrix {
            Matrix::Rfc5510 => power_products::<F>(source as u32, parity as u32),
            Matrix::Nrl => {
                let powers = source as u32 - 1;
                // M'(0) is the product of the other points: a^0 a^1 … a^(k-2).
                let at_zero = u64::from(powers) * u64::from(powers.max(1) - 1) / 2;
                let mut products = Vec::with_capacity(source + parity);
                products.push((at_zero % u64::from(F::ORDER)) as u16);
                // Point 0 adds the factor (a^i - 0) to the others.
                let others = power_products::<F>(powers, parity as u32);
                products.extend(
                    (0u32..)
                        .zip(others)
                        .map(|(power, product)| reduce::<F>(u32::from(product) + power)),
                );
                products
            }
        };
        Self { matrix, source, products, field: PhantomData }
    }

    /// Point of symbol `index` of the full block (source first, then parity).
    pub(crate) fn point(&self, index: usize) -> u16 {
        match (self.matrix, index) {
            (Matrix::Rfc5510, _) => F::exp(index as u32),
            (Matrix::Nrl, 0) => 0,
            (Matrix::Nrl, _) => F::exp(index as u32 - 1),
        }
    }

    /// Logarithm of the product of the point's distances to all other source points.
    pub(crate) fn product(&self, index: usize) -> u32 {
        u32::from(self.products[index])
    }

    /// Coefficient of source symbol `column` in parity `row`.
    pub(crate) fn coefficient(&self, row: usize, column: usize) -> u16 {
        let row = self.source + row;
        let distance = F::log(self.point(row) ^ self.point(column));
        F::exp(self.product(row) + 2 * F::ORDER - self.product(column) - distance)
    }
}

fn reduce<F: Logarithms>(log: u32) -> u16 {
    (log % F::ORDER) as u16
}

/// Logarithms of the products of distances from point a^i to the points a^0 … a^(count-1) other
/// than itself, for i in `0..count + more`.
///
/// From a^i to a^(i+1) every distance is multiplied by a and moves on by one place: the one to
/// a^-1 enters, the one to a^(count-1) leaves. Only where the point itself enters or leaves the
/// set (the start, and from the last source to the first parity) is the product made anew.
fn power_products<F: Logarithms>(count: u32, more: u32) -> Vec<u16> {
    let distance = |i: u32, j: u32| F::log(F::exp(i) ^ F::exp(j));
    let anew = |i: u32| (0..count).fold(0, |log, j| (log + distance(i, j)) % F::ORDER);
    let mut products = Vec::with_capacity((count + more) as usize);
    let mut product = 0;
    for i in 0..count + more {
        product = if i == 0 || i == count {
            anew(i)
        } else {
            let factors = if i < count { count - 1 } else { count };
            let (enters, leaves) =
                (distance(i - 1, F::ORDER - 1), distance(i - 1, count + F::ORDER - 1));
            (product + factors + enters + F::ORDER - leaves) % F::ORDER
        };
        products.push(product as u16);
    }
    products
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Gf8, Gf16};

    fn row<F: Logarithms>(points: &Points<F>, row: usize) -> Vec<u16> {
        (0..points.source).map(|column| points.coefficient(row, column)).collect()
    }

    #[test]
    fn nrl_rows_over_gf8_are_those_of_nrl() {
        let points = Points::<Gf8>::new(Matrix::Nrl, 3, 2);
        assert_eq!(row(&points, 0), [15, 8, 6]);
        assert_eq!(row(&points, 1), [45, 48, 28]);
        let points = Points::<Gf8>::new(Matrix::Nrl, 4, 2);
        assert_eq!(row(&points, 0), [0x77, 0x40, 0x38, 0x0e]);
        assert_eq!(row(&points, 1), [0xc7, 0xa7, 0x0d, 0x6c]);
        let points = Points::<Gf8>::new(Matrix::Nrl, 16, 4);
        assert_eq!(row(&points, 0)[..8], [0xc5, 0x3b, 0x1f, 0x2d, 0x4f, 0xaa, 0x83, 0xc2]);
        assert_eq!(row(&points, 0)[15], 0x3a);
        let points = Points::<Gf8>::new(Matrix::Nrl, 64, 8);
        assert_eq!(row(&points, 0)[..8], [0x45, 0xf5, 0x07, 0xe3, 0x78, 0x05, 0xae, 0x46]);
        assert_eq!(row(&points, 0)[63], 0xc0);
    }

    #[test]
    fn nrl_rows_over_gf16_are_those_of_nrl() {
        let points = Points::<Gf16>::new(Matrix::Nrl, 4, 2);
        assert_eq!(row(&points, 0), [0x0077, 0x0040, 0x0038, 0x000e]);
        assert_eq!(row(&points, 1), [0x02fd, 0x0380, 0x0110, 0x006c]);
    }

    #[test]
    fn rfc5510_rows_are_those_of_its_generator_matrix() {
        let points = Points::<Gf8>::new(Matrix::Rfc5510, 3, 2);
        assert_eq!(row(&points, 0), [8, 14, 7]);
        assert_eq!(row(&points, 1), [56, 34, 27]);
    }

    /// The defining property, by brute force: V_kk times the row is the Vandermonde column.
    fn rows_solve_the_vandermonde_system<F: Logarithms>(matrix: Matrix, k: usize, parity: usize) {
        let points = Points::<F>::new(matrix, k, parity);
        let power = |point: u16, exponent: usize| match (point, exponent) {
            (_, 0) => 1,
            (0, _) => 0,
            _ => F::exp((u64::from(F::log(point)) * exponent as u64 % u64::from(F::ORDER)) as u32),
        };
        let times =
            |a: u16, b: u16| if a == 0 || b == 0 { 0 } else { F::exp(F::log(a) + F::log(b)) };
        for t in 0..parity {
            let coefficients = row(&points, t);
            for exponent in 0..k {
                let sum = (0..k).fold(0, |sum, j| {
                    sum ^ times(coefficients[j], power(points.point(j), exponent))
                });
                assert_eq!(sum, power(points.point(k + t), exponent), "{matrix:?} {k} {t}");
            }
        }
    }

    #[test]
    fn every_row_solves_the_vandermonde_system() {
        for matrix in [Matrix::Nrl, Matrix::Rfc5510] {
            for (k, parity) in [(1, 254), (2, 253), (20, 235), (128, 127), (254, 1)] {
                rows_solve_the_vandermonde_system::<Gf8>(matrix, k, parity);
            }
            for (k, parity) in [(1, 9), (2, 9), (300, 7)] {
                rows_solve_the_vandermonde_system::<Gf16>(matrix, k, parity);
            }
        }
    }

    #[test]
    fn the_largest_codes_are_made_without_a_zero_coefficient() {
        for matrix in [Matrix::Nrl, Matrix::Rfc5510] {
            for (k, parity) in [(1, 65534), (65534, 1), (40000, 25535)] {
                let points = Points::<Gf16>::new(matrix, k, parity);
                assert!((0..k).all(|column| points.coefficient(parity - 1, column) != 0));
            }
        }
    }
}
