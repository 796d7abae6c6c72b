//! Bounds on how often probes go: they must not fill the path that they ask about.
//!
//! A shaper lets the first messages pass at once, and a path looks faster than it is. Whatever is
//! believed of it, probes are a small share of the data that was sent in the last moments. The
//! longer they are not answered, the fewer there are.

use fanfare_wire::units::time::{Duration, Time};
use libm::exp;

/// Bytes of a probe on the wire: 60 of NORM, 28 of UDP and IP, 14 of Ethernet.
const PROBE: f64 = 102.0;
/// Part of the data's bytes that probes may take (RFC 3550 6.2 gives control traffic 5 % of a session; three fifths of that are left to answers).
const SHARE: f64 = 0.02;
/// Seconds of data that tell how much will be sent in the next moments.
const MEMORY: f64 = 0.5;
/// At least one a second while something is to be sent.
const SLOWEST: Duration = Duration::from_secs(1);
/// Probes that may be saved up. So many tell the round trip, and who is there, before anything is sent.
const SAVED: f64 = 10.0;
/// Probes that may be lost, beside those that are on the way.
const PATIENCE: u32 = 4;
/// Probes that may be on the way. Twice in a round trip one goes, so that a path holds two or three; a round
/// trip that holds more is one of a queue.
const ON_THE_WAY_MAX: u32 = 16;
/// Slowest interval while others answer. Then it is the one that limits that is silent, or a slow line to it.
/// Asked no less often than this, it is passed over in a second when it has gone.
const SLOWEST_WITH_OTHERS: Duration = Duration::from_millis(50);
/// The interval doubles so often at most.
const DOUBLINGS: u32 = 10;

/// Bytes that probes may take, and the interval that follows from it.
#[derive(Debug)]
pub(super) struct ProbeBudget {
    /// Bytes of data a second of late, and when that was so.
    data: f64,
    at: Time,
    /// Bytes that probes may take now. Less than none where more were asked for than was earned.
    left: f64,
    counted: Time,
    /// The message that goes next is a probe.
    asking: bool,
}

impl ProbeBudget {
    pub(super) fn new(now: Time) -> Self {
        Self { data: 0.0, at: now, left: SAVED * PROBE, counted: now, asking: false }
    }

    /// A probe goes out.
    pub(super) fn on_probe(&mut self, now: Time) {
        let seconds = now.since(self.counted).as_secs_f64() / SLOWEST.as_secs_f64();
        self.counted = now;
        self.earn(seconds * PROBE);
        self.left = (self.left - PROBE).max(-SAVED * PROBE);
        self.asking = true;
    }

    /// Data is about to flow: probes of the time in which receivers were waited for count no more.
    pub(super) fn begin(&mut self) {
        self.left = SAVED * PROBE;
    }

    fn earn(&mut self, bytes: f64) {
        self.left = (self.left + bytes).min(SAVED * PROBE);
    }

    /// A message of `bytes` goes out.
    pub(super) fn on_sent(&mut self, now: Time, bytes: usize) {
        if !core::mem::take(&mut self.asking) {
            self.data = self.data_rate(now) + bytes as f64 / MEMORY;
            self.at = now;
            self.earn(SHARE * bytes as f64);
        }
    }

    /// Bytes of data a second, of late.
    fn data_rate(&self, now: Time) -> f64 {
        self.data * exp(-now.since(self.at).as_secs_f64() / MEMORY)
    }

    /// The interval that is allowed where `wanted` would be best. `unanswered` probes went after the
    /// last that was answered; an answer takes `rtt`.
    pub(super) fn interval(
        &self,
        now: Time,
        wanted: Duration,
        unanswered: u32,
        rtt: Duration,
        others_answer: bool,
    ) -> Duration {
        let slowest = wanted.max(SLOWEST);
        let earned = SHARE * self.data_rate(now) + PROBE / SLOWEST.as_secs_f64();
        let lacking = (PROBE - self.left).max(0.0);
        let affordable = Duration::from_secs_f64(lacking / earned).clamp(wanted, slowest);
        let on_the_way = rtt.as_nanos() / wanted.as_nanos().max(1);
        let on_the_way = u32::try_from(on_the_way).unwrap_or(u32::MAX).min(ON_THE_WAY_MAX);
        let patience = PATIENCE + on_the_way;
        let doublings = unanswered.saturating_sub(patience).min(DOUBLINGS);
        let slowest = if others_answer { wanted.max(SLOWEST_WITH_OTHERS) } else { slowest };
        let patient = wanted.saturating_mul(1 << doublings).clamp(wanted, slowest);
        affordable.max(patient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    const WANTED: Duration = Duration::from_millis(5);
    const RTT: Duration = Duration::from_millis(1);

    /// After `bytes` of data in each millisecond of two seconds, and as many probes as may be.
    fn busy(bytes: usize) -> ProbeBudget {
        let mut budget = ProbeBudget::new(at(0));
        for n in 0..2000 {
            budget.on_sent(at(n), bytes);
        }
        (0..SAVED as u32).for_each(|_| budget.on_probe(at(2000)));
        budget.left = 0.0;
        budget
    }

    #[test]
    fn probes_take_two_percent_of_what_data_takes_and_one_a_second() {
        // 56 kbit/s, 1 Mbit/s, and 1 Gbit/s.
        for (bytes, millis) in [(7, 421), (125, 39), (125_000, 5)] {
            let interval = busy(bytes).interval(at(2000), WANTED, 0, RTT, false);
            assert!(interval.as_millis().abs_diff(millis) <= 20, "{bytes}: {interval:?}");
        }
    }

    #[test]
    fn where_nothing_is_sent_any_more_one_goes_in_a_second() {
        let budget = busy(125_000);
        assert_eq!(budget.interval(at(20_000), WANTED, 0, RTT, false), SLOWEST);
    }

    #[test]
    fn probes_that_nobody_answers_become_fewer() {
        let budget = busy(125_000);
        let after = |unanswered| budget.interval(at(2000), WANTED, unanswered, RTT, false);
        assert_eq!([0, 4, 5, 7, 20].map(after).map(|one| one.as_millis()), [5, 5, 10, 40, 1000]);
        assert_eq!(budget.interval(at(2000), WANTED, 20, RTT, true), SLOWEST_WITH_OTHERS);
        let far = |unanswered| {
            budget.interval(at(2000), WANTED, unanswered, Duration::from_millis(100), false)
        };
        assert_eq!((far(20), far(21)), (WANTED, WANTED * 2), "that many are on the way");
    }

    #[test]
    fn the_first_tell_the_round_trip_whatever_is_sent() {
        let mut budget = ProbeBudget::new(at(0));
        (1..SAVED as u32).for_each(|_| budget.on_probe(at(0)));
        assert_eq!(budget.interval(at(0), WANTED, 0, RTT, false), WANTED);
        (0..3).for_each(|_| budget.on_probe(at(0)));
        assert_eq!(budget.interval(at(0), WANTED, 0, RTT, false), SLOWEST);
        // The first flight pays for some more.
        (0..20).for_each(|_| budget.on_sent(at(0), 1468));
        assert_eq!(budget.interval(at(0), WANTED, 0, RTT, false), WANTED);
    }
}
