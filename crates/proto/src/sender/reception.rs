//! How much of what is sent arrives at a receiver, by its own count of messages.

use crate::{report::Reception, time::Time};

/// Messages that must have been sent between two counts: below that a share is chance.
const MESSAGES_MIN: u64 = 32;

/// A receiver's count, and ours at the same time.
#[derive(Debug, Clone, Copy)]
struct Count {
    at: Time,
    arrived: u32,
    sent: u64,
}

/// One receiver's counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    base: Option<Count>,
    latest: Option<Reception>,
}

impl Tally {
    /// The receiver has had `arrived` messages (it wraps) of the `sent` so far.
    pub(super) fn on_count(&mut self, at: Time, arrived: u32, sent: u64) {
        let count = Count { at, arrived, sent };
        let Some(base) = self.base else {
            self.base = Some(count);
            return;
        };
        let of = sent.saturating_sub(base.sent);
        let had = u64::from(arrived.wrapping_sub(base.arrived));
        // It has begun to count anew; a few more than were sent may have been on their way before.
        if had > of * 2 + MESSAGES_MIN {
            self.base = Some(count);
        } else if of >= MESSAGES_MIN {
            let share = (had as f64 / of as f64).min(1.0);
            self.latest = Some(Reception { share, since: base.at, until: at });
            self.base = Some(count);
        }
    }

    /// The share of the last interval.
    pub(super) fn latest(&self) -> Option<Reception> {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn the_share_is_what_arrived_between_two_counts_even_when_they_wrap() {
        let mut tally = Tally::default();
        tally.on_count(at(1), u32::MAX - 9, 5000);
        assert_eq!(tally.latest(), None);
        tally.on_count(at(2), 40, 5100);
        let expected = Reception { share: 0.5, since: at(1), until: at(2) };
        assert_eq!(tally.latest(), Some(expected));
        tally.on_count(at(3), 45, 5110);
        assert_eq!(tally.latest(), Some(expected), "ten messages say nothing");
        tally.on_count(at(4), 140, 5200);
        assert_eq!(tally.latest().unwrap(), Reception { share: 1.0, since: at(2), until: at(4) });
    }

    #[test]
    fn a_receiver_that_begins_anew_is_not_misread() {
        let mut tally = Tally::default();
        tally.on_count(at(1), 1_000_000, 5000);
        tally.on_count(at(2), 3, 6000);
        assert_eq!(tally.latest(), None);
        tally.on_count(at(3), 753, 7000);
        assert_eq!(tally.latest().unwrap().share, 0.75);
    }
}
