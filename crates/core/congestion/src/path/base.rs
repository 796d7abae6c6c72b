//! The base delay of a path: the least delay seen lately, without a queue.

use fanfare_wire::units::time::{Duration, Time};

/// The least is looked for over this many spans: the sender lets the queue drain once in each, and
/// one drain may go wrong. Longer, and drifting clocks and changed routes would look like queues.
const SPANS: usize = 4;
/// A span: so many round trips, within bounds. The sender's own rule for when to drain.
const SPAN_RTTS: u32 = 20;
const SPAN_MIN: Duration = Duration::from_secs(1);
const SPAN_MAX: Duration = Duration::from_secs(10);

/// How often the sender of a path with this round trip lets the queue drain.
pub(crate) fn drain_interval(rtt: Duration) -> Duration {
    (rtt * SPAN_RTTS).clamp(SPAN_MIN, SPAN_MAX)
}

/// A windowed minimum.
#[derive(Debug, Default)]
pub(super) struct Base {
    /// Least of this span, then of those before it.
    least: Option<[f64; SPANS]>,
    begun: Time,
}

impl Base {
    /// The least lately.
    pub(super) fn least(&self) -> f64 {
        self.least.map_or(0.0, |least| least.into_iter().fold(f64::INFINITY, f64::min))
    }

    /// The path is longer than it was: this is its least delay.
    pub(super) fn set(&mut self, now: Time, delay: f64) {
        (self.least, self.begun) = (Some([delay; SPANS]), now);
    }

    /// All delays count as longer by so many seconds from now on.
    pub(super) fn lengthen(&mut self, seconds: f64) {
        self.least = self.least.map(|least| least.map(|delay| delay + seconds));
    }

    /// A message took `delay` seconds by clocks that differ by anything; the least lately.
    pub(super) fn on_delay(&mut self, now: Time, delay: f64, rtt: Duration) -> f64 {
        let Some(least) = &mut self.least else {
            self.least = Some([delay; SPANS]);
            self.begun = now;
            return delay;
        };
        if now.since(self.begun) >= drain_interval(rtt) {
            self.begun = now;
            least.rotate_right(1);
            least[0] = delay;
        }
        least[0] = least[0].min(delay);
        least.iter().copied().fold(delay, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_remembered_for_some_spans_and_then_forgotten() {
        let mut base = Base::default();
        let rtt = Duration::from_millis(50);
        let mut at = |second: u64, delay| {
            base.on_delay(Time::ZERO + Duration::from_secs(second), delay, rtt)
        };
        assert_eq!(at(0, 5.0), 5.0);
        assert_eq!([at(1, 7.0), at(2, 7.0), at(3, 7.0)], [5.0; 3]);
        assert_eq!(at(4, 7.0), 7.0);
    }
}
