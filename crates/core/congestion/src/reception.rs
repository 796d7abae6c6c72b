//! The packet loss of a receiver. It comes from the receiver's own count of messages. Before two
//! counts have come it is estimated from the receiver's first request for each block.

use fanfare_wire::units::time::Time;

/// Messages that must have been sent between two counts: below that a share is chance.
const MESSAGES_MIN: u64 = 32;

/// How much of what is sent arrives at a receiver, as it counted itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reception {
    /// Of the messages sent between `since` and `until`, 0 to 1.
    pub share: f64,
    /// When the count before came in.
    pub since: Time,
    /// When the last count came in.
    pub until: Time,
}

/// A receiver's count, and ours at the same time.
#[derive(Debug, Clone, Copy)]
struct Count {
    at: Time,
    arrived: u32,
    sent: u64,
}

/// One receiver's counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReceptionTally {
    base: Option<Count>,
    latest: Option<Reception>,
    first: FirstRequests,
}

/// What a receiver lacked of blocks when it asked for them first.
#[derive(Debug, Clone, Copy, Default)]
struct FirstRequests {
    /// Object and block up to which blocks are in the sums.
    end: (u64, u32),
    lost: u64,
    of: u64,
}

impl ReceptionTally {
    /// The receiver has had `arrived` messages (it wraps) of the `sent` so far.
    pub fn on_count(&mut self, at: Time, arrived: u32, sent: u64) {
        let count = Count { at, arrived, sent };
        let Some(base) = self.base else {
            self.base = Some(count);
            return;
        };
        let of = sent.saturating_sub(base.sent);
        let had = u64::from(arrived.wrapping_sub(base.arrived));
        // It has begun to count again; a few more than were sent may have been on their way before.
        if had > of * 2 + MESSAGES_MIN {
            self.base = Some(count);
        } else if of >= MESSAGES_MIN {
            let share = (had as f64 / of as f64).min(1.0);
            self.latest = Some(Reception { share, since: base.at, until: at });
            self.base = Some(count);
        }
    }

    /// Blocks of object `ordinal` before which nothing more is to be counted.
    pub fn counted(&self, ordinal: u64) -> u32 {
        match self.first.end {
            (counted, end) if counted == ordinal => end,
            (counted, _) if counted > ordinal => u32::MAX,
            _ => 0,
        }
    }

    /// Of the `of` symbols from there up to block `end` the receiver has lost `lost`.
    pub fn on_first_request(&mut self, end: (u64, u32), lost: u64, of: u64) {
        self.first.end = end;
        self.first.lost += lost;
        self.first.of += of;
    }

    /// The share that arrives, as far as anything is known of it.
    pub fn share(&self) -> Option<f64> {
        let FirstRequests { lost, of, .. } = self.first;
        let asked = (of >= MESSAGES_MIN).then(|| 1.0 - (lost as f64 / of as f64).min(1.0));
        self.latest.map(|reception| reception.share).or(asked)
    }

    /// The share of the last interval.
    pub fn latest(&self) -> Option<Reception> {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::Duration;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn the_share_is_what_arrived_between_two_counts_even_when_they_wrap() {
        let mut tally = ReceptionTally::default();
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
    fn before_two_counts_the_share_comes_from_first_requests() {
        let mut tally = ReceptionTally::default();
        assert_eq!((tally.share(), tally.counted(7)), (None, 0));
        tally.on_first_request((7, 1), 30, 100);
        tally.on_first_request((7, 2), 10, 100);
        assert_eq!(tally.share(), Some(0.8));
        assert_eq!((tally.counted(6), tally.counted(7), tally.counted(8)), (u32::MAX, 2, 0));
        tally.on_count(at(1), 0, 0);
        tally.on_count(at(2), 50, 100);
        assert_eq!(tally.share(), Some(0.5), "its own count says more");
    }

    #[test]
    fn a_receiver_that_restarts_its_count_is_recognised() {
        let mut tally = ReceptionTally::default();
        tally.on_count(at(1), 1_000_000, 5000);
        tally.on_count(at(2), 3, 6000);
        assert_eq!(tally.latest(), None);
        tally.on_count(at(3), 753, 7000);
        assert_eq!(tally.latest().unwrap().share, 0.75);
    }
}
