//! Which units of a part have been hashed as they were written.
//!
//! A unit that came in one piece is hashed before it leaves the processor's cache. One that came in
//! several is read and hashed when it has all its bytes, so that of a file that lost packets everywhere
//! not all is left to the end. What was written to again, or was there before, is read by whoever verifies.

use crate::content::manifest::unit::{UNIT, Unit};

/// Of larger files the rest is read again: 36 MB of hashes are enough.
pub(crate) const UNITS_MAX: u64 = 1 << 20;

/// Hashes of a part, as far as they are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Units {
    known: Vec<Progress>,
    /// All there, in pieces, and not hashed.
    whole: Vec<u64>,
    /// How many came in pieces.
    #[cfg(test)]
    pub(super) torn: usize,
}

#[derive(Debug, Clone, Copy)]
enum Progress {
    /// So many bytes have been written, if none of them twice: then it is hashed too early, and what is
    /// written later undoes that.
    Bytes(u64),
    Hashed(Unit),
}

/// The bytes (start, end) of a unit.
fn span(number: u64, size: u64) -> (u64, u64) {
    (number * UNIT, (number * UNIT + UNIT).min(size))
}

impl Units {
    /// `bytes` have been written at `offset` of a file of `size`.
    pub(super) fn on_written(&mut self, offset: u64, bytes: &[u8], size: u64) {
        let end = offset + bytes.len() as u64;
        if size <= UNIT {
            return;
        }
        for number in offset / UNIT..end.div_ceil(UNIT).min(UNITS_MAX) {
            let (start, stop) = span(number, size);
            let progress = self.progress(number);
            if offset <= start && stop <= end {
                let bytes = &bytes[(start - offset) as usize..(stop - offset) as usize];
                *progress = Progress::Hashed(Unit::of(number, bytes));
                continue;
            }
            let before = match progress {
                Progress::Bytes(bytes) => *bytes,
                Progress::Hashed(_) => 0,
            };
            let now = before + (stop.min(end) - start.max(offset));
            *progress = Progress::Bytes(now);
            if before < stop - start && now >= stop - start {
                self.whole.push(number);
                #[cfg(test)]
                {
                    self.torn += 1;
                }
            }
        }
    }

    fn progress(&mut self, number: u64) -> &mut Progress {
        let at = number as usize;
        if self.known.len() <= at {
            self.known.resize(at + 1, Progress::Bytes(0));
        }
        &mut self.known[at]
    }

    /// Hashes what came in pieces and is all there, by what `read` gives of the file at an offset. What
    /// cannot be read is left to whoever verifies.
    pub(super) fn hash_whole<E>(
        &mut self,
        size: u64,
        mut read: impl FnMut(&mut [u8], u64) -> Result<(), E>,
    ) {
        if self.whole.is_empty() {
            return;
        }
        let mut buffer = vec![0; UNIT as usize];
        for number in std::mem::take(&mut self.whole) {
            let (start, stop) = span(number, size);
            let bytes = &mut buffer[..(stop - start) as usize];
            if read(bytes, start).is_ok() {
                *self.progress(number) = Progress::Hashed(Unit::of(number, bytes));
            }
        }
    }

    /// These bytes may not be what they were.
    pub(super) fn forget(&mut self, offset: u64, len: u64) {
        let end = (offset + len).div_ceil(UNIT).min(self.known.len() as u64);
        for number in (offset / UNIT)..end {
            self.known[number as usize] = Progress::Bytes(0);
        }
    }

    /// The hash of the `number`th unit.
    pub(crate) fn get(&self, number: u64) -> Option<Unit> {
        match self.known.get(usize::try_from(number).ok()?)? {
            Progress::Hashed(unit) => Some(*unit),
            Progress::Bytes(_) => None,
        }
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
    fn a_unit_that_came_in_pieces_is_hashed_when_it_has_them_all() {
        let (mut units, size) = (Units::default(), 2 * UNIT);
        let content: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
        let mut reads = 0;
        for (from, to) in [(0, 1000), (1400, UNIT + 5), (1000, 1400)] {
            units.on_written(from, &content[from as usize..to as usize], size);
            units.hash_whole(size, |into, at| {
                reads += 1;
                into.copy_from_slice(&content[at as usize..at as usize + into.len()]);
                Ok::<_, ()>(())
            });
        }
        assert_eq!((known(&units), reads), (vec![0], 1));
        assert_eq!(units.get(0), Some(Unit::of(0, &content[..UNIT as usize])));
    }

    #[test]
    fn a_unit_with_bytes_that_came_twice_is_not_known_once_the_missing_ones_come() {
        let (mut units, size) = (Units::default(), 2 * UNIT);
        let half = vec![1; (UNIT / 2) as usize];
        let read = |into: &mut [u8], _| {
            into.fill(1);
            Ok::<_, ()>(())
        };
        units.on_written(0, &half, size);
        units.on_written(0, &half, size);
        units.hash_whole(size, read);
        assert_eq!(known(&units), [0], "too early");
        units.on_written(UNIT / 2, &half, size);
        units.hash_whole(size, read);
        assert!(known(&units).is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_left_to_whoever_verifies() {
        let (mut units, size) = (Units::default(), 2 * UNIT);
        let half = vec![1; (UNIT / 2) as usize];
        units.on_written(0, &half, size);
        units.on_written(UNIT / 2, &half, size);
        units.hash_whole(size, |_, _| Err(()));
        assert!(known(&units).is_empty());
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
