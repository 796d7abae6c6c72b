//! Which units of a part have been hashed as they were written.
//!
//! A unit that came in one piece is hashed before it leaves the processor's cache; one that did not,
//! or was written to again, is read by whoever verifies. Those that were there before are, too.

use crate::manifest::unit::{UNIT, Unit};

/// Of larger files the rest is read again: 36 MB of hashes are enough.
const UNITS_MAX: u64 = 1 << 20;

/// Hashes of a part, as far as they are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Units {
    known: Vec<Option<Unit>>,
}

impl Units {
    /// `bytes` have been written at `offset` of a file of `size`.
    pub(super) fn on_written(&mut self, offset: u64, bytes: &[u8], size: u64) {
        self.forget(offset, bytes.len() as u64);
        let end = offset + bytes.len() as u64;
        for number in offset.div_ceil(UNIT)..end.div_ceil(UNIT).min(UNITS_MAX) {
            let (start, stop) = (number * UNIT, (number * UNIT + UNIT).min(size));
            if stop > end || size <= UNIT {
                return;
            }
            let unit =
                Unit::of(number, &bytes[(start - offset) as usize..(stop - offset) as usize]);
            let at = number as usize;
            if self.known.len() <= at {
                self.known.resize(at + 1, None);
            }
            self.known[at] = Some(unit);
        }
    }

    /// These bytes may not be what they were.
    pub(super) fn forget(&mut self, offset: u64, len: u64) {
        let end = (offset + len).div_ceil(UNIT).min(self.known.len() as u64);
        for number in (offset / UNIT)..end {
            self.known[number as usize] = None;
        }
    }

    /// The hash of the `number`th unit.
    pub(crate) fn get(&self, number: u64) -> Option<Unit> {
        self.known.get(usize::try_from(number).ok()?).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(units: &Units) -> Vec<u64> {
        (0..10).filter(|number| units.get(*number).is_some()).collect()
    }

    #[test]
    fn only_units_that_came_in_one_piece_are_known_and_the_last_may_be_short() {
        let (mut units, size) = (Units::default(), 3 * UNIT + 7);
        let content: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
        units.on_written(1, &content[1..(2 * UNIT) as usize], size);
        assert_eq!(known(&units), [1]);
        units.on_written(2 * UNIT, &content[(2 * UNIT) as usize..], size);
        assert_eq!(known(&units), [1, 2, 3]);
        assert_eq!(units.get(3), Some(Unit::of(3, &content[(3 * UNIT) as usize..])));
    }

    #[test]
    fn a_unit_that_is_written_to_again_is_not_known_any_more() {
        let (mut units, size) = (Units::default(), 4 * UNIT);
        units.on_written(0, &vec![1; size as usize], size);
        assert_eq!(known(&units), [0, 1, 2, 3]);
        units.on_written(2 * UNIT - 1, &[5, 5], size);
        assert_eq!(known(&units), [0, 3]);
    }
}
