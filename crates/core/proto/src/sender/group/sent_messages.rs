//! Counts the messages of this sender, and tells how many had been sent at a time of late: a receiver
//! that counts what has arrived knows nothing of those that are still on their way.

use crate::time::{Duration, Time};
use alloc::collections::VecDeque;

/// Moments remembered, and how far apart they are at least: 2.5 s, longer than the round trip over two
/// satellites with full queues. What is older than all of them is taken for the oldest.
const MOMENTS: usize = 256;
const APART: Duration = Duration::from_millis(10);

/// The count, and what it was.
#[derive(Debug, Default)]
pub(in crate::sender) struct SentMessages {
    count: u64,
    /// When the last one went.
    last: Time,
    /// Oldest first.
    moments: VecDeque<(Time, u64)>,
}

impl SentMessages {
    /// So many more go out now.
    pub(in crate::sender) fn on_sent(&mut self, now: Time, count: u64) {
        if self.moments.back().is_none_or(|(then, _)| now.since(*then) >= APART) {
            if self.moments.len() >= MOMENTS {
                self.moments.pop_front();
            }
            self.moments.push_back((now, self.count));
        }
        self.count += count;
        self.last = now;
    }

    /// How many so far.
    pub(in crate::sender) fn count(&self) -> u64 {
        self.count
    }

    /// How many had been sent at `then`. Between two moments they are taken to have gone evenly.
    pub(in crate::sender) fn until(&self, then: Time) -> u64 {
        if then >= self.last {
            return self.count;
        }
        let after = self.moments.partition_point(|(moment, _)| *moment <= then);
        let end = self.moments.get(after).copied().unwrap_or((self.last, self.count));
        let Some(begin) = after.checked_sub(1).and_then(|before| self.moments.get(before)) else {
            return end.1;
        };
        let span = end.0.since(begin.0).as_nanos().max(1);
        let part = u128::from(end.1 - begin.1) * then.since(begin.0).as_nanos() / span;
        // It is no more than the difference that it is a part of.
        begin.1 + part as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    #[test]
    fn what_was_sent_a_round_trip_ago_is_known_also_after_a_silence() {
        let mut sent = SentMessages::default();
        assert_eq!(sent.until(at(5)), 0);
        (0..100).for_each(|n| sent.on_sent(at(n), 1));
        // Nothing goes for a second, and then thirty.
        (0..30).for_each(|n| sent.on_sent(at(1100 + n), 1));
        assert_eq!((sent.until(at(2000)), sent.until(at(1129))), (130, 130));
        assert!((99..=100).contains(&sent.until(at(1090))), "{}", sent.until(at(1090)));
        assert!((48..=52).contains(&sent.until(at(50))), "{}", sent.until(at(50)));
    }

    #[test]
    fn the_moments_that_are_remembered_have_a_bound() {
        let mut sent = SentMessages::default();
        (0..10_000).for_each(|n| sent.on_sent(at(n), 3));
        assert_eq!(sent.moments.len(), MOMENTS);
        assert_eq!(sent.until(Time::ZERO), sent.moments[0].1);
    }
}
