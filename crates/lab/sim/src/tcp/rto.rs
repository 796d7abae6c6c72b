//! The retransmission timeout (RFC 6298), with Linux's two departures.
//!
//! Linux puts its floor of 200 ms under the variance, so that the timeout is at least the round
//! trip and 200 ms, and takes the largest deviation within a round trip, so that the many samples
//! that timestamps give do not wash a peak away (`tcp_rtt_estimator`).

use fanfare_proto::Duration;

/// RFC 6298 2.1: before there is a sample.
const INITIAL: Duration = Duration::from_secs(1);
/// Linux's `TCP_RTO_MAX`; RFC 6298 2.5 allows any bound from 60 s.
const MAX: Duration = Duration::from_secs(120);

/// Round-trip estimate and timeout.
#[derive(Debug, Clone)]
pub(super) struct Rto {
    floor: u64,
    smoothed: Option<u64>,
    /// Four times the smoothed deviation, nanoseconds; likewise the next two.
    deviation: u64,
    /// Its largest value in this round trip.
    peak: u64,
    /// What the timeout adds.
    variance: u64,
    min_rtt: Option<u64>,
    backoff: u32,
}

impl Rto {
    pub(super) fn new(floor: Duration) -> Self {
        let floor = nanos(floor);
        Self {
            floor,
            smoothed: None,
            deviation: 0,
            peak: floor,
            variance: floor,
            min_rtt: None,
            backoff: 0,
        }
    }

    /// A round trip was measured; `round_over`: it is the first of a new round trip.
    pub(super) fn on_sample(&mut self, sample: Duration, round_over: bool) {
        let sample = nanos(sample).max(1);
        self.backoff = 0;
        self.min_rtt = Some(self.min_rtt.map_or(sample, |least| least.min(sample)));
        let Some(smoothed) = self.smoothed else {
            // RFC 6298 2.2: half the sample, times four.
            self.smoothed = Some(sample);
            self.deviation = 2 * sample;
            self.variance = self.deviation.max(self.floor);
            self.peak = self.variance;
            return;
        };
        self.smoothed = Some(smoothed - smoothed / 8 + sample / 8);
        self.deviate(smoothed, sample);
        self.peak = self.peak.max(self.deviation);
        self.variance = self.variance.max(self.peak);
        if round_over {
            self.variance -= (self.variance - self.peak) / 4;
            self.peak = self.floor;
        }
    }

    fn deviate(&mut self, smoothed: u64, sample: u64) {
        let off = smoothed.abs_diff(sample);
        let mean = self.deviation / 4;
        if off <= mean {
            self.deviation -= mean - off;
        } else if sample < smoothed {
            // A falling round trip must not raise the timeout as a rising one does: an eighth.
            self.deviation += (off - mean) / 8;
        } else {
            self.deviation += off - mean;
        }
    }

    /// The timer has expired: RFC 6298 5.5.
    pub(super) fn on_timeout(&mut self) {
        self.backoff += 1;
    }

    /// The timeout, backed off.
    pub(super) fn timeout(&self) -> Duration {
        let base = self.smoothed.map_or(nanos(INITIAL), |rtt| rtt + self.variance);
        let most = nanos(MAX);
        let doubled = base.checked_shl(self.backoff.min(16)).unwrap_or(most);
        Duration::from_nanos(doubled.min(most))
    }

    /// Timeouts since the last sample.
    pub(super) fn backoff(&self) -> u32 {
        self.backoff
    }
    /// The smoothed round trip.
    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(Duration::from_nanos)
    }
    /// The shortest so far; zero before the first sample.
    pub(super) fn min_rtt(&self) -> Duration {
        Duration::from_nanos(self.min_rtt.unwrap_or(0))
    }
    /// The floor under the variance.
    pub(super) fn floor(&self) -> Duration {
        Duration::from_nanos(self.floor)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Duration = Duration::from_millis(200);
    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn the_timeout_is_a_second_before_the_first_sample_and_three_round_trips_after_it() {
        let mut rto = Rto::new(FLOOR);
        assert_eq!(rto.timeout(), ms(1000));
        rto.on_sample(ms(300), false);
        assert_eq!(rto.timeout(), ms(900));
    }

    #[test]
    fn a_steady_round_trip_ends_at_the_floor_above_itself() {
        let mut rto = Rto::new(FLOOR);
        (0..200).for_each(|n| rto.on_sample(ms(100), n % 10 == 0));
        let timeout = rto.timeout();
        assert!(timeout >= ms(299) && timeout < ms(305), "{timeout:?}");
    }

    #[test]
    fn each_timeout_doubles_up_to_two_minutes_and_a_sample_ends_it() {
        let mut rto = Rto::new(FLOOR);
        rto.on_sample(ms(300), false);
        rto.on_timeout();
        assert_eq!(rto.timeout(), ms(1800));
        rto.on_timeout();
        assert_eq!(rto.timeout(), ms(3600));
        (0..40).for_each(|_| rto.on_timeout());
        assert_eq!(rto.timeout(), Duration::from_secs(120));
        rto.on_sample(ms(300), false);
        assert!(rto.timeout() < ms(1000), "{:?}", rto.timeout());
    }

    #[test]
    fn a_rising_round_trip_raises_the_timeout_and_a_falling_one_hardly_does() {
        let settled = || {
            let mut rto = Rto::new(FLOOR);
            (0..300).for_each(|n| rto.on_sample(ms(1000), n % 10 == 0));
            rto
        };
        let (mut rising, mut falling) = (settled(), settled());
        rising.on_sample(ms(1900), false);
        falling.on_sample(ms(100), false);
        assert!(rising.timeout() > ms(1900), "{:?}", rising.timeout());
        assert!(falling.timeout() < ms(1200), "{:?}", falling.timeout());
    }
}
