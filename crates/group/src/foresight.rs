//! Parity that goes with a message unasked, of a publisher that hears nobody: what all others miss is
//! then not lost, although nobody can ask for it.
//!
//! Others mend what one of them holds. What each of them missed only the publisher could send again, and
//! it does not hear that it should. With nine others and half of all packets lost that is one symbol of
//! 512, so that little parity is enough.

use fanfare_proto::{Duration, Time};

/// One symbol of parity for so many of messages. In the tactical test (`results/s000-table3.md`) what
/// a publisher sends beside its messages is then still less than in DisService.
const SHARE: u64 = 32;
/// A block of so many symbols has one in any case: a long message needs all of its symbols.
const LONG: u64 = 24;
/// Others announce themselves within 2 s; who has heard nobody for twice as long hears nobody.
const UNHEARD: Duration = Duration::from_secs(4);

/// What short messages have saved up, and since when nobody is heard.
#[derive(Debug)]
pub(crate) struct Foresight {
    saved: u64,
    since: Time,
}

impl Foresight {
    pub(crate) fn new(now: Time) -> Self {
        Self { saved: 0, since: now }
    }

    /// How many parity symbols go with each block of a message of so many `symbols` in blocks of
    /// `block`; `alone`: nobody is heard.
    pub(crate) fn parity(&mut self, now: Time, alone: bool, (symbols, block): (u64, u64)) -> u16 {
        if !alone {
            self.since = now;
        }
        if now.since(self.since) < UNHEARD || symbols == 0 {
            return 0;
        }
        let longest = symbols.min(block.max(1));
        if longest >= LONG {
            return (longest / SHARE).max(1) as u16;
        }
        self.saved += symbols;
        let parity = self.saved / SHARE;
        self.saved %= SHARE;
        parity as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }

    #[test]
    fn who_hears_somebody_or_has_just_begun_sends_none_ahead() {
        let mut foresight = Foresight::new(at(0));
        let mut parity = |s, alone| foresight.parity(at(s), alone, (26, 64));
        assert_eq!(
            [(3, true), (4, true), (5, false), (8, true)].map(|(s, a)| parity(s, a)),
            [0, 1, 0, 0]
        );
        assert_eq!(parity(9, true), 1);
    }

    #[test]
    fn long_blocks_have_their_own_and_short_ones_save_for_it() {
        let mut foresight = Foresight::new(at(0));
        let mut parity = |symbols| foresight.parity(at(9), true, (symbols, 64));
        assert_eq!([24, 63, 64, 1000].map(&mut parity), [1, 1, 2, 2]);
        let of_short: u16 = (0..64).map(|_| parity(6)).sum();
        assert_eq!((of_short, parity(0)), (12, 0));
    }
}
