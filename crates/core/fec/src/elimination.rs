//! Gaussian elimination over GF(2^8): which unknown symbols can be solved from equations.
//!
//! It works on coefficients only. For each solved symbol the result says how it is a sum of the
//! equations' right sides. Those are bytes, and are added once, when they are needed.

use crate::field::{Gf8, Logarithms};
use alloc::vec;
use alloc::vec::Vec;

/// Equations in reduced form: each has an unknown of its own, which no other contains.
#[derive(Debug, Clone)]
pub struct Elimination {
    unknowns: usize,
    rows: Vec<Row>,
}

#[derive(Debug, Clone)]
struct Row {
    /// Its own unknown, with coefficient 1.
    pivot: usize,
    coefficients: Vec<u8>,
    /// Of which of the equations taken it is made.
    made_of: Vec<u8>,
}

impl Elimination {
    /// No equations over so many unknowns.
    #[must_use]
    pub fn new(unknowns: usize) -> Self {
        Self { unknowns, rows: Vec::new() }
    }

    /// Takes an equation by its coefficients. False when it follows from those taken before: then
    /// nothing is changed, and it has no number.
    ///
    /// # Panics
    /// On a caller's mistake: there are not as many coefficients as unknowns.
    pub fn add(&mut self, coefficients: &[u8]) -> bool {
        assert_eq!(coefficients.len(), self.unknowns, "one coefficient for each unknown");
        let mut rest = coefficients.to_vec();
        let mut made_of = vec![0; self.rows.len()];
        for row in &self.rows {
            let factor = rest[row.pivot];
            add(&mut rest, factor, &row.coefficients);
            add(&mut made_of, factor, &row.made_of);
        }
        let Some(pivot) = rest.iter().position(|&c| c != 0) else { return false };
        made_of.push(1);
        let inverse = inverse(rest[pivot]);
        rest.iter_mut().chain(&mut made_of).for_each(|c| *c = product(inverse, *c));
        for row in &mut self.rows {
            let factor = row.coefficients[pivot];
            add(&mut row.coefficients, factor, &rest);
            row.made_of.push(0);
            add(&mut row.made_of, factor, &made_of);
        }
        self.rows.push(Row { pivot, coefficients: rest, made_of });
        true
    }

    /// Equations taken.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rows.len()
    }

    /// Unknowns that follow, each with the factors of the equations taken, in the order they were.
    pub fn determined(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let alone = |row: &&Row| row.coefficients.iter().filter(|&&c| c != 0).count() == 1;
        self.rows.iter().filter(alone).map(|row| (row.pivot, &row.made_of[..]))
    }
}

/// Adds `factor` times `row` to `to`.
fn add(to: &mut [u8], factor: u8, row: &[u8]) {
    if factor != 0 {
        to.iter_mut().zip(row).for_each(|(to, &c)| *to ^= product(factor, c));
    }
}

/// The sum of products of factors and values.
#[must_use]
pub fn dot(factors: &[u8], values: &[u8]) -> u8 {
    factors.iter().zip(values).fold(0, |sum, (&factor, &value)| sum ^ product(factor, value))
}

/// What makes one of an element of the field; zero has none, and gives zero.
#[must_use]
pub fn inverse(a: u8) -> u8 {
    match a {
        0 => 0,
        _ => Gf8::exp(Gf8::ORDER - Gf8::log(u16::from(a))) as u8,
    }
}

/// Of two elements of the field.
#[must_use]
pub fn product(a: u8, b: u8) -> u8 {
    match (a, b) {
        (0, _) | (_, 0) => 0,
        _ => Gf8::exp(Gf8::log(u16::from(a)) + Gf8::log(u16::from(b))) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rows over `k` unknowns, values of these, and factors to make dependent rows of.
    fn system() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<u8>, Vec<u8>)> {
        (1..24_usize).prop_flat_map(|k| {
            let row = prop::collection::vec(prop_oneof![Just(0), any::<u8>()], k);
            let rows = prop::collection::vec(row, 1..2 * k);
            (rows, prop::collection::vec(any::<u8>(), k), prop::collection::vec(any::<u8>(), 2 * k))
        })
    }

    proptest! {
        #[test]
        fn what_follows_has_the_value_it_was_made_of((rows, values, _) in system()) {
            let mut elimination = Elimination::new(values.len());
            let taken: Vec<_> = rows.iter().filter(|row| elimination.add(row)).collect();
            let right: Vec<u8> = taken.iter().map(|row| dot(row, &values)).collect();
            prop_assert_eq!(elimination.rank(), taken.len());
            let determined: Vec<_> = elimination.determined().collect();
            for (unknown, factors) in &determined {
                prop_assert_eq!(dot(factors, &right), values[*unknown]);
            }
            // As many independent rows as unknowns decode.
            if taken.len() == values.len() {
                prop_assert_eq!(determined.len(), values.len());
            }
        }

        #[test]
        fn a_row_made_of_others_is_recognised_and_costs_nothing((rows, values, factors) in system()) {
            let mut elimination = Elimination::new(values.len());
            rows.iter().for_each(|row| { elimination.add(row); });
            let mut dependent = vec![0; values.len()];
            rows.iter().zip(&factors).for_each(|(row, &factor)| add(&mut dependent, factor, row));
            let before = elimination.rows.len();
            prop_assert!(!elimination.add(&dependent));
            prop_assert_eq!(elimination.rows.len(), before);
            prop_assert!(elimination.rows.iter().all(|row| row.made_of.len() == before));
        }
    }

    #[test]
    fn an_inverse_makes_one_of_every_element_but_zero() {
        assert!((1..=255).all(|a| product(a, inverse(a)) == 1));
        assert_eq!(inverse(0), 0);
    }

    #[test]
    fn one_unknown_can_follow_before_the_others_do() {
        let mut elimination = Elimination::new(3);
        assert!(elimination.add(&[1, 2, 0]) && elimination.determined().count() == 0);
        assert!(elimination.add(&[1, 3, 0]));
        let known: Vec<usize> = elimination.determined().map(|(unknown, _)| unknown).collect();
        assert_eq!(known, [0, 1]);
    }
}
