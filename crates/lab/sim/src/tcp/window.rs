//! The congestion window: slow start, then the algorithm.

use fanfare_proto::{Duration, Time};

use super::config::{Algorithm, Config};
use super::cubic::Cubic;
use super::reno;

/// Linux keeps at least this; RFC 5681 equation 4, too.
const MIN_SSTHRESH: f64 = 2.0;

/// Window and slow start threshold, in segments.
#[derive(Debug, Clone)]
pub(super) struct Window {
    segments: f64,
    ssthresh: f64,
    initial: f64,
    growth: Growth,
}

#[derive(Debug, Clone)]
enum Growth {
    Reno,
    Cubic(Cubic),
}

impl Window {
    pub(super) fn new(config: &Config) -> Self {
        let initial = f64::from(config.initial_window.max(1));
        let growth = match config.algorithm {
            Algorithm::Reno => Growth::Reno,
            Algorithm::Cubic => Growth::Cubic(Cubic::new(config.reno_beyond_last_loss)),
        };
        Self { segments: initial, ssthresh: f64::INFINITY, initial, growth }
    }

    /// Whole segments that may be in flight.
    pub(super) fn segments(&self) -> u32 {
        self.segments as u32
    }
    /// Whether the window doubles.
    pub(super) fn slow_start(&self) -> bool {
        self.segments < self.ssthresh
    }
    /// Whole segments of the slow start threshold.
    pub(super) fn ssthresh(&self) -> u32 {
        self.ssthresh as u32
    }

    /// `acked` segments have arrived while the window was full. Slow start counts them all: where
    /// RFC 5681 allows one per ACK, Linux does not let delayed ACKs slow it (RFC 3465 without its
    /// bound).
    pub(super) fn on_acked(&mut self, now: Time, rtt: Duration, acked: u32) {
        let mut acked = f64::from(acked);
        if self.slow_start() {
            let step = acked.min(self.ssthresh - self.segments);
            self.segments += step;
            acked -= step;
        }
        if acked > 0.0 {
            self.segments += match &mut self.growth {
                Growth::Reno => reno::increase(self.segments, acked),
                Growth::Cubic(cubic) => cubic.increase(now, rtt, self.segments, acked),
            };
        }
    }

    /// A loss or a mark: lowers the threshold and leaves the window to the recovery.
    pub(super) fn on_congestion(&mut self) {
        let less = match &mut self.growth {
            Growth::Reno => reno::decrease(self.segments),
            Growth::Cubic(cubic) => cubic.decrease(self.segments),
        };
        // Whole segments, as Linux counts them.
        self.ssthresh = less.floor().max(MIN_SSTHRESH);
    }

    /// The timer has expired.
    pub(super) fn on_timeout(&mut self) {
        if let Growth::Cubic(cubic) = &mut self.growth {
            cubic.on_timeout();
        }
    }

    /// The recovery sets it.
    pub(super) fn set(&mut self, segments: u32) {
        self.segments = f64::from(segments.max(1));
    }

    /// Slow start ends here, though nothing was lost.
    pub(super) fn end_slow_start(&mut self) {
        self.ssthresh = self.segments.floor().max(MIN_SSTHRESH);
    }

    /// RFC 5681 4.1: after a timeout's worth of silence the path is unknown again.
    pub(super) fn restart(&mut self) {
        self.segments = self.segments.min(self.initial);
    }

    /// Back to an earlier state, since the loss was none; never to a smaller window.
    pub(super) fn restore(&mut self, earlier: &Self) {
        let segments = self.segments.max(earlier.segments);
        *self = Self { segments, ..earlier.clone() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    fn window(algorithm: Algorithm) -> Window {
        Window::new(&Config { algorithm, ..Config::default() })
    }

    #[test]
    fn slow_start_doubles_the_window_in_a_round_trip() {
        for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
            let mut window = window(algorithm);
            assert_eq!(window.segments(), 10);
            (0..5).for_each(|_| window.on_acked(Time::ZERO, RTT, 2));
            assert_eq!(window.segments(), 20);
        }
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_growth_goes_on_from_there() {
        let mut window = window(Algorithm::Reno);
        window.set(20);
        window.on_congestion();
        assert_eq!(window.ssthresh(), 10);
        window.set(8);
        assert!(window.slow_start());
        window.on_acked(Time::ZERO, RTT, 8);
        assert!(!window.slow_start());
        // Two to the threshold, six in congestion avoidance.
        assert_eq!(window.segments(), 10);
        window.on_acked(Time::ZERO, RTT, 5);
        assert_eq!(window.segments(), 11);
    }

    #[test]
    fn the_threshold_never_falls_below_two() {
        let mut window = window(Algorithm::Reno);
        window.set(1);
        window.on_congestion();
        assert_eq!(window.ssthresh(), 2);
    }

    #[test]
    fn a_restart_after_silence_begins_with_the_initial_window() {
        let mut window = window(Algorithm::Cubic);
        window.set(80);
        window.restart();
        assert_eq!(window.segments(), 10);
        window.set(4);
        window.restart();
        assert_eq!(window.segments(), 4);
    }
}
