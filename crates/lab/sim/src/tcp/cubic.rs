//! CUBIC's congestion avoidance (RFC 9438).

use fanfare_proto::{Duration, Time};

/// RFC 9438 5: aggressiveness, segments per cubic second.
const C: f64 = 0.4;
/// RFC 9438 4.6: what a loss leaves of the window.
const BETA: f64 = 0.7;
/// RFC 9438 4.3: grows as fast as Reno does with its halving.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Linux until the first loss: at least one segment for each twenty acknowledged, so that a slow
/// start that was left too early is made good.
const UNPROVEN_GROWTH: f64 = 1.0 / 20.0;

/// What CUBIC remembers.
#[derive(Debug, Clone, Default)]
pub(super) struct Cubic {
    /// The window at the last loss, less when it had shrunk since the one before. Zero: no loss yet.
    w_max: f64,
    /// The window at the last loss.
    prior: f64,
    epoch: Option<Epoch>,
    /// From the configuration.
    reno_beyond: bool,
}

/// Congestion avoidance since the last loss.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Time,
    /// Where the cubic is flat: seconds from the start, and window.
    k: f64,
    plateau: f64,
    /// The window that Reno would have by now.
    reno: f64,
}

impl Epoch {
    fn window_at(&self, seconds: f64) -> f64 {
        let off = seconds - self.k;
        C * off * off * off + self.plateau
    }
}

impl Cubic {
    /// Before any loss; `reno_beyond`:
    /// [`Config::reno_beyond_last_loss`](super::Config::reno_beyond_last_loss).
    pub(super) fn new(reno_beyond: bool) -> Self {
        Self { reno_beyond, ..Self::default() }
    }

    /// What to add to the window for `acked` segments.
    pub(super) fn increase(&mut self, now: Time, rtt: Duration, window: f64, acked: f64) -> f64 {
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin(now, window));
        let age = now.since(epoch.start).as_secs_f64();
        // RFC 9438 4.2: head for where the cubic is in a round trip, at most half a window up.
        let target = epoch.window_at(age + rtt.as_secs_f64()).clamp(window, 1.5 * window);
        let mut step = acked * (target - window) / window;
        if self.w_max == 0.0 {
            step = step.max(acked * UNPROVEN_GROWTH);
        }
        let beyond = self.reno_beyond && epoch.reno >= self.prior;
        let alpha = if beyond { 1.0 } else { ALPHA };
        epoch.reno += alpha * acked / window;
        if epoch.window_at(age) < epoch.reno {
            step = step.max(epoch.reno - window);
        }
        self.epoch = Some(epoch);
        step
    }

    /// The window after a loss.
    pub(super) fn decrease(&mut self, window: f64) -> f64 {
        // RFC 9438 4.7, fast convergence: who could not get back leaves room for a newcomer.
        let shrinking = window < self.w_max;
        self.w_max = if shrinking { window * (1.0 + BETA) / 2.0 } else { window };
        self.prior = window;
        self.epoch = None;
        window * BETA
    }

    /// After a timeout the cubic begins flat, at the window where slow start ends (RFC 9438 4.8).
    pub(super) fn on_timeout(&mut self) {
        *self = Self { prior: self.prior, ..Self::new(self.reno_beyond) };
    }

    fn begin(&self, now: Time, window: f64) -> Epoch {
        let below = (self.w_max - window).max(0.0);
        Epoch {
            start: now,
            k: libm::cbrt(below / C),
            plateau: self.w_max.max(window),
            reno: window,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// The window after each second of full windows acknowledged every round trip.
    fn windows(cubic: &mut Cubic, mut window: f64, rtt: Duration, seconds: u64) -> Vec<f64> {
        let rounds = (1.0 / rtt.as_secs_f64()).round() as u64;
        let mut now = Time::ZERO;
        let mut seen = Vec::new();
        for round in 0..seconds * rounds {
            window += cubic.increase(now, rtt, window, window);
            now = now + rtt;
            if (round + 1) % rounds == 0 {
                seen.push(window);
            }
        }
        seen
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_the_plateau_is_the_window_of_the_loss() {
        let mut cubic = Cubic::default();
        assert!((cubic.decrease(1000.0) - 700.0).abs() < 1e-9);
        // K = cbrt(300 / 0.4) = 9.09 s (RFC 9438, equation 2).
        let windows = windows(&mut cubic, 700.0, RTT, 20);
        assert!((windows[8] - 1000.0).abs() < 10.0, "{windows:?}");
        assert!(windows[0] - 700.0 > windows[8] - windows[7], "concave first: {windows:?}");
        assert!(windows[19] - windows[18] > windows[11] - windows[10], "then convex: {windows:?}");
    }

    #[test]
    fn a_second_loss_below_the_first_lowers_the_plateau_further() {
        let mut cubic = Cubic::default();
        cubic.decrease(100.0);
        cubic.decrease(80.0);
        assert!((cubic.w_max - 68.0).abs() < 1e-9, "{}", cubic.w_max);
    }

    #[test]
    fn on_a_short_path_it_grows_as_reno_with_its_decrease_would() {
        let after = |reno_beyond| {
            let mut cubic = Cubic::new(reno_beyond);
            let window = cubic.decrease(20.0);
            windows(&mut cubic, window, Duration::from_millis(10), 1)[0]
        };
        // A hundred round trips from 14 at 0.529 segments each; or so until 20, then at one each.
        let (linux, rfc) = (14.0 + 100.0 * ALPHA, 20.0 + (100.0 - 6.0 / ALPHA));
        assert!((after(false) - linux).abs() < 3.0, "{} against {linux}", after(false));
        assert!((after(true) - rfc).abs() < 6.0, "{} against {rfc}", after(true));
    }

    #[test]
    fn it_never_grows_by_more_than_half_in_a_round_trip() {
        let mut cubic = Cubic::default();
        let window = cubic.decrease(10_000.0) / 100.0;
        let step = cubic.increase(Time::ZERO, Duration::from_secs(30), window, window);
        assert!(step <= window / 2.0 + 1e-9, "{step} of {window}");
    }
}
