//! Which numbers of a sender have been seen: each counts once.

/// Numbers remembered. At 1 Gbit/s a reordering of 90 ms; it costs 1 KiB for each sender.
pub(crate) const WINDOW: u64 = 8192;
const WORDS: usize = (WINDOW / 64) as usize;

/// The numbers of one sender.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// One beyond the highest seen.
    next: u64,
    /// Nothing below counts: it was sent before this sender was known.
    floor: u64,
    seen: Box<[u64; WORDS]>,
}

impl Window {
    /// The sender's next message has this number.
    pub(crate) fn from(next: u64) -> Self {
        Self { next, floor: next, seen: Box::new([0; WORDS]) }
    }

    /// The whole number of which these are the low bits: the nearest to what comes next.
    pub(crate) fn whole(&self, low: u32, bits: u32) -> u64 {
        let turn = 1u64 << bits;
        let near = (self.next & !(turn - 1)) | u64::from(low);
        let half = turn / 2;
        if near + half < self.next {
            near + turn
        } else if near >= self.next + half && near >= turn {
            near - turn
        } else {
            near
        }
    }

    /// Whether this number has not been seen, and is not too old to tell.
    pub(crate) fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            return true;
        }
        let bit = number % WINDOW;
        number >= self.floor
            && self.next - number <= WINDOW
            && self.seen[(bit / 64) as usize] >> (bit % 64) & 1 == 0
    }

    /// A message of this number has been opened.
    pub(crate) fn note(&mut self, number: u64) {
        if number >= self.next {
            self.forget(number);
            self.next = number + 1;
        }
        let bit = number % WINDOW;
        self.seen[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    /// Clears the places of the numbers between the highest seen and this one.
    fn forget(&mut self, number: u64) {
        if number - self.next >= WINDOW {
            self.seen.fill(0);
            return;
        }
        for skipped in self.next..=number {
            let bit = skipped % WINDOW;
            self.seen[(bit / 64) as usize] &= !(1 << (bit % 64));
        }
    }

    /// The sender says that its next message has this number: less than was seen is not news.
    pub(crate) fn advance(&mut self, next: u64) {
        if next > self.next {
            self.forget(next - 1);
            self.next = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_number_counts_once_in_whatever_order_they_come() {
        // Random steps around the highest number seen, seed 1, against a set of all that were seen.
        let mut rng = fanfare_wire::units::Rng::new(1);
        let (mut window, mut seen, mut top) = (Window::from(100), BTreeSet::new(), 100u64);
        for _ in 0..200_000 {
            let number = (top + rng.below(64)).saturating_sub(rng.below(9000));
            let fresh = number >= 100 && !seen.contains(&number) && number + WINDOW >= top;
            assert_eq!(window.is_new(number), fresh, "{number} of {top}");
            if fresh {
                window.note(number);
                seen.insert(number);
                top = top.max(number + 1);
            }
        }
    }

    #[test]
    fn low_bits_mean_the_nearest_number() {
        for next in [0u64, 5, 65_530, 65_536, 65_540, 1 << 32, (1 << 40) + 12] {
            let window = Window::from(next);
            for number in next.saturating_sub(30_000)..next + 30_000 {
                assert_eq!(window.whole(number as u16 as u32, 16), number, "next {next}");
            }
        }
    }

    #[test]
    fn a_jump_forgets_what_is_behind_it() {
        let mut window = Window::from(0);
        (0..10).for_each(|n| window.note(n));
        window.note(1_000_000);
        assert!(!window.is_new(5) && !window.is_new(1_000_000) && window.is_new(999_999));
        window.advance(1_000_100);
        assert!(window.is_new(1_000_050) && !window.is_new(1_000_000));
    }
}
