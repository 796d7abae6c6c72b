//! A token bucket: how many bytes repairs may use of the network. What others send of them counts, too, as all
//! of them share the medium.

use fanfare_proto::{Bitrate, Duration, Time};

/// Longest burst, as time at the rate: long enough for one answer of a few symbols on a slow link.
const BURST: Duration = Duration::from_millis(4);
/// A burst is at least one full datagram, so that a slow rate still sends.
const BURST_MIN: u64 = 1500;
/// Part of the rate that others' repairs may take: what is left is this node's, whoever floods.
const OTHERS: f64 = 0.875;
/// And for so long this node waits at most for what others sent at once.
const OTHERS_BURST: Duration = Duration::from_secs(1);

/// Bytes that may go now; debts are paid before anything else goes.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    bytes_per_second: f64,
    burst: f64,
    tokens: f64,
    /// Bytes of others that still count.
    others: f64,
    at: Time,
}

impl TokenBucket {
    pub(crate) fn new(now: Time, rate: Bitrate) -> Self {
        let mut bucket =
            Self { bytes_per_second: 0.0, burst: 0.0, tokens: 0.0, others: 0.0, at: now };
        bucket.set(rate);
        (bucket.tokens, bucket.others) = (bucket.burst, bucket.others_most());
        bucket
    }
    fn set(&mut self, rate: Bitrate) {
        self.bytes_per_second = rate.as_bytes_per_second();
        self.burst = (self.bytes_per_second * BURST.as_secs_f64()).max(BURST_MIN as f64);
    }
    fn others_most(&self) -> f64 {
        OTHERS * self.bytes_per_second * OTHERS_BURST.as_secs_f64()
    }
    /// Goes on at another rate.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Bitrate) {
        self.refill(now);
        self.set(rate);
    }
    /// The rate.
    pub(crate) fn rate(&self) -> Bitrate {
        Bitrate::from_bytes_per_second(self.bytes_per_second)
    }
    fn refill(&mut self, now: Time) {
        let more = now.since(self.at).as_secs_f64() * self.bytes_per_second;
        self.tokens = (self.tokens + more).min(self.burst);
        self.others = (self.others + OTHERS * more).min(self.others_most());
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
    /// Others sent so many.
    pub(crate) fn on_others(&mut self, now: Time, bytes: usize) {
        self.refill(now);
        let counts = (bytes as f64).min(self.others.max(0.0));
        self.others -= counts;
        self.tokens -= counts;
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

    /// Bytes that go in ten seconds, in messages of a thousand, beside `others` bytes a second.
    fn sent_beside(rate: Bitrate, others: usize) -> usize {
        let mut budget = TokenBucket::new(Time::ZERO, rate);
        let mut sent = 0;
        for milli in 0..10_000 {
            let now = Time::ZERO + Duration::from_millis(milli);
            if milli % 10 == 0 {
                budget.on_others(now, others / 100);
            }
            while budget.allows(now) {
                budget.on_sent(1000);
                sent += 1000;
            }
        }
        sent
    }

    #[test]
    fn what_others_send_is_not_sent_here_but_an_eighth_is_this_node_s() {
        let rate = Bitrate::kbps(800);
        let [alone, few, half, all, flood] =
            [0, 10_000, 50_000, 100_000, 10_000_000].map(|others| sent_beside(rate, others));
        assert!((1_000_000..1_010_000).contains(&alone), "{alone}");
        assert!((900_000..910_000).contains(&few), "{few}");
        assert!((500_000..510_000).contains(&half), "{half}");
        assert!((30_000..130_000).contains(&all), "{all}");
        assert!((30_000..130_000).contains(&flood), "{flood}");
    }

    #[test]
    fn another_rate_holds_from_then_on() {
        for rate in [80, 800, 8_000] {
            let mut budget = TokenBucket::new(Time::ZERO, Bitrate::kbps(800));
            budget.on_sent(1_500);
            budget.set_rate(Time::ZERO, Bitrate::kbps(rate));
            assert_eq!(budget.rate(), Bitrate::kbps(rate));
            budget.on_sent(100 * rate as usize);
            let next = budget.next().since(Time::ZERO).as_millis();
            assert!((799..=801).contains(&next), "{next}");
        }
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
