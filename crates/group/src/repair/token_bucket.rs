//! A token bucket: how many bytes repairs may use of the network.

use fanfare_proto::{Bitrate, Duration, Time};

/// Longest burst, as time at the rate: long enough for one answer of a few symbols on a slow link.
const BURST: Duration = Duration::from_millis(4);
/// A burst is at least one full datagram, so that a slow rate still sends.
const BURST_MIN: u64 = 1500;

/// Bytes that may go now; debts are paid before anything else goes.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    bytes_per_second: f64,
    burst: f64,
    tokens: f64,
    at: Time,
}

impl TokenBucket {
    pub(crate) fn new(now: Time, rate: Bitrate) -> Self {
        let bytes_per_second = rate.as_bytes_per_second();
        let burst = (bytes_per_second * BURST.as_secs_f64()).max(BURST_MIN as f64);
        Self { bytes_per_second, burst, tokens: burst, at: now }
    }
    fn refill(&mut self, now: Time) {
        let more = now.since(self.at).as_secs_f64() * self.bytes_per_second;
        self.tokens = (self.tokens + more).min(self.burst);
        self.at = now.max(self.at);
    }
    /// Whether something may go now.
    pub(crate) fn allows(&mut self, now: Time) -> bool {
        self.refill(now);
        self.tokens > 0.0
    }
    pub(crate) fn on_sent(&mut self, bytes: usize) {
        self.tokens -= bytes as f64;
    }
    /// When something may go; never at a rate of nothing.
    pub(crate) fn next(&self) -> Time {
        if self.tokens > 0.0 {
            return self.at;
        }
        if self.bytes_per_second <= 0.0 {
            return Time::FAR_FUTURE;
        }
        // One nanosecond more, so that rounding leaves no debt.
        let wait = Duration::from_secs_f64(-self.tokens / self.bytes_per_second);
        self.at + wait + Duration::from_nanos(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_a_long_time_the_bucket_passes_no_more_than_the_rate() {
        let mut budget = TokenBucket::new(Time::ZERO, Bitrate::kbps(80));
        let (mut now, mut sent) = (Time::ZERO, 0);
        while now < Time::ZERO + Duration::from_secs(10) {
            while budget.allows(now) {
                budget.on_sent(1000);
                sent += 1000;
            }
            let next = budget.next();
            assert!(next > now);
            now = next;
        }
        assert!((100_000..=103_000).contains(&sent), "{sent}");
    }

    #[test]
    fn with_a_zero_rate_one_burst_passes_and_then_nothing() {
        let mut budget = TokenBucket::new(Time::ZERO, Bitrate::kbps(0));
        assert!(budget.allows(Time::ZERO));
        budget.on_sent(2000);
        assert!(!budget.allows(Time::ZERO + Duration::from_secs(1000)));
        assert_eq!(budget.next(), Time::FAR_FUTURE);
    }
}
