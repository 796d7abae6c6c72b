//! The loss event rate, as in TFRC (RFC 5348 5): losses within a round trip are one event, and the
//! rate is the inverse of a weighted mean of the packets between events.

use alloc::collections::VecDeque;
use fanfare_wire::units::time::{Duration, Time};

/// RFC 5348 5.4: weights of the last eight intervals, newest first.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Halvings until a fraction is known to a thousandth of itself.
const HALVINGS: usize = 40;

/// Packets between loss events.
#[derive(Debug, Default)]
pub(super) struct LossEvents {
    /// Since the last event.
    open: f64,
    /// Between earlier ones, newest first.
    closed: VecDeque<f64>,
    last: Option<Time>,
}

impl LossEvents {
    /// A packet arrived after `lost` others. True when that begins an event.
    pub(super) fn on_packet(&mut self, now: Time, lost: u32, rtt: Duration) -> bool {
        self.open += 1.0 + f64::from(lost);
        let is_new = self.last.is_none_or(|last| now.since(last) > rtt);
        if lost == 0 || !is_new {
            return false;
        }
        self.last = Some(now);
        self.closed.push_front(self.open);
        self.closed.truncate(WEIGHTS.len());
        self.open = 0.0;
        true
    }
    /// The history is such that the equation gives this rate (RFC 5348 6.3.1): after the first event,
    /// whose interval tells more of the start than of the path.
    pub(super) fn assume(&mut self, rate: f64, rtt: Duration, packet: f64) {
        self.closed.clear();
        self.closed.push_front(1.0 / fraction_of(rate, rtt, packet));
    }

    /// Bit/s of a TCP flow that loses as often; `None` without loss.
    pub(super) fn tcp_rate(&self, rtt: Duration, packet: f64) -> Option<f64> {
        let mean = |intervals: &mut dyn Iterator<Item = f64>| {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (interval, share) in intervals.zip(WEIGHTS) {
                sum += interval * share;
                weight += share;
            }
            sum / f64::max(weight, f64::MIN_POSITIVE)
        };
        self.closed.front()?;
        let closed = mean(&mut self.closed.iter().copied());
        // The interval under way counts where it makes the mean longer.
        let open = mean(&mut core::iter::once(self.open).chain(self.closed.iter().copied()));
        let fraction = 1.0 / closed.max(open).max(1.0);
        Some(rate_at(fraction, rtt, packet))
    }
}

/// Bit/s of a TCP flow that loses this fraction and never waits for a timeout.
fn rate_at(fraction: f64, rtt: Duration, packet: f64) -> f64 {
    8.0 * packet / (rtt.as_secs_f64() * libm::sqrt(2.0 * fraction / 3.0))
}

/// The loss event fraction at which TCP has this rate, in bit/s.
fn fraction_of(rate: f64, rtt: Duration, packet: f64) -> f64 {
    let (mut low, mut high) = (1e-8, 1.0);
    for _ in 0..HALVINGS {
        let middle = libm::sqrt(low * high);
        if rate_at(middle, rtt, packet) > rate { low = middle } else { high = middle }
    }
    libm::sqrt(low * high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn one_loss_in_a_hundred_packets_is_tcps_rate_at_one_percent() {
        let mut events = LossEvents::default();
        assert_eq!(events.tcp_rate(RTT, 512.0), None);
        for n in 1..=1000 {
            events.on_packet(at(n * 10), u32::from(n % 99 == 0), RTT);
        }
        let (rate, exact) = (events.tcp_rate(RTT, 512.0), rate_at(0.01, RTT, 512.0));
        assert!(rate.is_some_and(|rate| (rate / exact - 1.0).abs() < 0.01), "{rate:?} {exact}");
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let mut events = LossEvents::default();
        let new: alloc::vec::Vec<bool> =
            [10, 50, 90, 120].map(|ms| events.on_packet(at(ms), 3, RTT)).into();
        assert_eq!(new, [true, false, false, true]);
        assert_eq!(events.closed.len(), 2);
    }

    #[test]
    fn an_assumed_history_gives_the_rate_that_was_assumed() {
        let mut events = LossEvents::default();
        events.assume(300_000.0, RTT, 512.0);
        let rate = events.tcp_rate(RTT, 512.0).unwrap();
        assert!((rate / 300_000.0 - 1.0).abs() < 0.001, "{rate}");
        // A long time without loss tells of more room.
        (0..20_000).for_each(|n| {
            events.on_packet(at(n), 0, RTT);
        });
        assert!(events.tcp_rate(RTT, 512.0).unwrap() > 600_000.0);
    }
}
