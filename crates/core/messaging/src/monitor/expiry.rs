//! When silence means that a node has gone: by how it has spoken so far.

use fanfare_wire::units::{Duration, Time};

/// The least and the most patience: a radio may be out of reach for seconds, and who has been away for ten
/// minutes is told anew anyway.
const PATIENCE_MIN: Duration = Duration::from_secs(3);
const PATIENCE_MAX: Duration = Duration::from_secs(600);
/// Deviations beyond the mean, as for a retransmission timer (RFC 6298).
const DEVIATIONS: u32 = 4;
/// So many times as long as what makes it old, and it is forgotten.
const FORGOTTEN: u32 = 3;

/// The intervals in which something is said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expiry {
    mean: Duration,
    deviation: Duration,
    last: Time,
}

impl Expiry {
    /// Heard now, the next one `declared` from now.
    pub(crate) fn new(now: Time, declared: Duration) -> Self {
        Self { mean: declared, deviation: declared / 2, last: now }
    }

    /// Heard again.
    pub(crate) fn on_heard(&mut self, now: Time, declared: Duration) {
        let interval = now.since(self.last);
        let off = interval.abs_diff(self.mean);
        self.mean = self.mean * 7 / 8 + interval / 8;
        self.deviation = self.deviation * 3 / 4 + off / 4;
        // A longer interval that was declared is no silence.
        self.mean = self.mean.max(declared);
        self.last = now;
    }

    fn patience(&self) -> Duration {
        (self.mean + self.deviation * DEVIATIONS).clamp(PATIENCE_MIN, PATIENCE_MAX)
    }

    pub(crate) fn is_old(&self, now: Time) -> bool {
        now.since(self.last) > self.patience()
    }

    pub(crate) fn is_over(&self, now: Time) -> bool {
        now.since(self.last) > (self.patience() * FORGOTTEN).min(PATIENCE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO.plus(Duration::from_secs(seconds))
    }

    #[test]
    fn who_speaks_every_two_seconds_is_missed_sooner_than_who_speaks_every_twenty() {
        let silent_after = |every: u64| {
            let mut expiry = Expiry::new(at(0), Duration::from_secs(every));
            (1..50).for_each(|n| expiry.on_heard(at(n * every), Duration::from_secs(every)));
            let last = 49 * every;
            (last..).find(|second| expiry.is_old(at(*second))).unwrap() - last
        };
        assert_eq!((silent_after(2), silent_after(20)), (4, 21));
    }

    #[test]
    fn a_longer_interval_that_was_declared_is_no_silence() {
        let mut expiry = Expiry::new(at(0), Duration::from_secs(1));
        expiry.on_heard(at(1), Duration::from_secs(60));
        assert!(!expiry.is_old(at(60)));
        assert!(expiry.is_over(at(602)));
    }
}
