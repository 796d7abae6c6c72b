//! Missing source symbols from the others and parity.
//!
//! The block's polynomial is known at k points: the source symbols at hand, the zeros that shorten
//! the block, and as many parity symbols as source symbols are missing. Its value at a missing
//! point is again a Lagrange sum. The products it needs differ from those the code keeps only by
//! the points that leave (the missing) and enter (the parity used), so e missing symbols of k cost
//! O(e k) to prepare: no matrix is inverted and nothing can be singular.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::code::{Code, Tables};
use crate::field::Logarithms;
use crate::kernel::Coefficients;
use crate::matrix::Points;

/// Why a block cannot be recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoverError {
    /// Fewer symbols than missing ones need.
    TooFew {
        /// Parity symbols needed: one for each missing source symbol.
        need: usize,
        /// Parity symbols given.
        have: usize,
    },
    /// A symbol number is out of range, given twice, or neither given nor listed as missing.
    Symbol(usize),
    /// A buffer's length does not suit (GF(2^16) needs an even length; outputs must be equal).
    Length {
        /// Length of the first output, rounded up to whole field elements.
        expected: usize,
        /// Length of the offending buffer: an output of another length, or a longer input.
        found: usize,
    },
}

impl fmt::Display for RecoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { need, have } => write!(f, "{need} parity symbols needed, {have} given"),
            Self::Symbol(number) => {
                write!(f, "symbol {number} is out of range, double or unlisted")
            }
            Self::Length { expected, found } => {
                write!(f, "symbol of {found} bytes where {expected} are expected")
            }
        }
    }
}

impl core::error::Error for RecoverError {}

impl Code {
    /// Recovers missing source symbols.
    ///
    /// `block_len` source symbols make up the block. `source` are those at hand (number, bytes),
    /// `parity` those at hand (parity number from 0, bytes); shorter ones count as zero-padded.
    /// `missing` are the numbers to recover with a buffer each, of the symbol length. All missing
    /// ones of the block must be listed, and at least as many parity symbols given; further ones
    /// are not looked at beyond their number and length.
    ///
    /// # Errors
    /// [`RecoverError`]; the buffers are then untouched.
    pub fn recover(
        &self,
        block_len: usize,
        source: &[(usize, &[u8])],
        parity: &[(usize, &[u8])],
        missing: &mut [(usize, &mut [u8])],
    ) -> Result<(), RecoverError> {
        self.check_numbers(block_len, source, parity, missing)?;
        self.check_lengths(source, parity, missing)?;
        let parity = &parity[..missing.len()];
        let parity_index = |number: usize| self.source + number;
        let known = source.iter().map(|&(number, _)| number);
        let known = known.chain(parity.iter().map(|&(number, _)| parity_index(number)));
        let symbols: Vec<&[u8]> = source.iter().chain(parity).map(|&(_, bytes)| bytes).collect();
        let lost = missing.iter().map(|&(number, _)| number);
        match &*self.tables {
            Tables::Gf8 { points, .. } => {
                let rows = Interpolation::new(points, known, lost, source.len());
                let coefficients = rows.all();
                let coefficients = Coefficients::new(&coefficients, missing.len(), 0);
                self.kernel.sum8(coefficients, &symbols, &mut buffers(missing));
            }
            Tables::Gf16 { points } => {
                let rows = Interpolation::new(points, known, lost, source.len());
                let coefficient = |row, column| rows.coefficient(row, column);
                self.kernel.sum16(coefficient, &symbols, &mut buffers(missing));
            }
        }
        Ok(())
    }

    /// Every number is in range and comes once; together source and missing are the block.
    fn check_numbers(
        &self,
        block_len: usize,
        source: &[(usize, &[u8])],
        parity: &[(usize, &[u8])],
        missing: &[(usize, &mut [u8])],
    ) -> Result<(), RecoverError> {
        if block_len > self.source {
            return Err(RecoverError::Symbol(self.source));
        }
        let mut block = Once::new(block_len);
        source.iter().try_for_each(|&(number, _)| block.mark(number))?;
        missing.iter().try_for_each(|&(number, _)| block.mark(number))?;
        block.first_unmarked().map_or(Ok(()), |number| Err(RecoverError::Symbol(number)))?;
        let mut parities = Once::new(self.parity);
        parity.iter().try_for_each(|&(number, _)| parities.mark(number))?;
        if parity.len() < missing.len() {
            return Err(RecoverError::TooFew { need: missing.len(), have: parity.len() });
        }
        Ok(())
    }

    fn check_lengths(
        &self,
        source: &[(usize, &[u8])],
        parity: &[(usize, &[u8])],
        missing: &[(usize, &mut [u8])],
    ) -> Result<(), RecoverError> {
        let Some((_, first)) = missing.first() else { return Ok(()) };
        let expected = first.len().next_multiple_of(self.field().element_size());
        let outputs = missing.iter().map(|(_, bytes)| bytes.len());
        let inputs = source.iter().chain(parity).map(|(_, bytes)| bytes.len());
        let bad = outputs.clone().find(|&length| length != expected);
        match bad.or_else(|| inputs.clone().find(|&length| length > expected)) {
            Some(found) => Err(RecoverError::Length { expected, found }),
            None => Ok(()),
        }
    }
}

fn buffers<'a>(missing: &'a mut [(usize, &mut [u8])]) -> Vec<&'a mut [u8]> {
    missing.iter_mut().map(|(_, bytes)| &mut **bytes).collect()
}

/// Numbers below a limit, each of which may come once.
struct Once(Vec<bool>);

impl Once {
    fn new(limit: usize) -> Self {
        Self(vec![false; limit])
    }

    fn mark(&mut self, number: usize) -> Result<(), RecoverError> {
        match self.0.get_mut(number) {
            Some(marked) if !*marked => *marked = true,
            _ => return Err(RecoverError::Symbol(number)),
        }
        Ok(())
    }

    fn first_unmarked(&self) -> Option<usize> {
        self.0.iter().position(|marked| !marked)
    }
}

/// Coefficients of the lost symbols over the known ones.
struct Interpolation<F> {
    known: Vec<Place>,
    lost: Vec<Place>,
    field: core::marker::PhantomData<F>,
}

/// A point, and the logarithm of the product of its distances to all known points but itself.
struct Place {
    point: u16,
    product: u32,
}

impl<F: Logarithms> Interpolation<F> {
    /// `known` and `lost` are indices in the full block; the first `source` of `known` are source
    /// symbols, the rest parity.
    fn new(
        points: &Points<F>,
        known: impl Iterator<Item = usize>,
        lost: impl Iterator<Item = usize>,
        source: usize,
    ) -> Self {
        let place = |index| Place { point: points.point(index), product: points.product(index) };
        let (mut known, mut lost): (Vec<Place>, Vec<Place>) =
            (known.map(place).collect(), lost.map(place).collect());
        let entered: Vec<u16> = known[source..].iter().map(|place| place.point).collect();
        let left: Vec<u16> = lost.iter().map(|place| place.point).collect();
        for place in known.iter_mut().chain(&mut lost) {
            // The distance of a point to itself has "logarithm" 0 and so drops out.
            // No sum overflows: at most half of 65535 points enter, each below 2^16.
            let point = place.point;
            let sum =
                |others: &[u16]| others.iter().map(|other| F::log(point ^ other)).sum::<u32>();
            let product = place.product + sum(&entered) + F::ORDER - sum(&left) % F::ORDER;
            place.product = product % F::ORDER;
        }
        Self { known, lost, field: core::marker::PhantomData }
    }

    /// Coefficient of known symbol `column` in lost symbol `row`.
    fn coefficient(&self, row: usize, column: usize) -> u16 {
        Self::ratio(&self.lost[row], &self.known[column])
    }

    /// All of them, as bytes, those of one known symbol together.
    fn all(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.known.len() * self.lost.len());
        for known in &self.known {
            all.extend(self.lost.iter().map(|lost| Self::ratio(lost, known) as u8));
        }
        all
    }

    fn ratio(lost: &Place, known: &Place) -> u16 {
        let distance = F::log(lost.point ^ known.point);
        F::exp(lost.product + 2 * F::ORDER - known.product - distance)
    }
}
