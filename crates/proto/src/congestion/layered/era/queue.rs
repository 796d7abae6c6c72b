//! The queue on the path, by transit times: how long packets wait, and whether that grows.

use crate::time::Time;

/// Fewer packets tell neither a mean nor a slope.
const PACKETS_MIN: f64 = 4.0;

/// Transits of one stretch of time, as sums for a line of least squares.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stretch {
    count: f64,
    time: f64,
    transit: f64,
    time_square: f64,
    product: f64,
    least: Option<f64>,
    began: Time,
}

/// What a stretch tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Waiting {
    /// Mean transit, seconds.
    pub(super) mean: f64,
    /// Where the line through all transits ends.
    pub(super) end: f64,
    /// Least transit.
    pub(super) least: f64,
    /// Seconds of waiting more per second: what comes above what passes, as a share.
    pub(super) slope: f64,
}

impl Stretch {
    pub(super) fn new(began: Time) -> Self {
        Self { began, ..Self::default() }
    }
    pub(super) fn add(&mut self, now: Time, transit: f64) {
        let time = now.since(self.began).as_secs_f64();
        self.count += 1.0;
        self.time += time;
        self.transit += transit;
        self.time_square += time * time;
        self.product += time * transit;
        self.least = Some(self.least.map_or(transit, |least| least.min(transit)));
    }
    pub(super) fn packets(&self) -> f64 {
        self.count
    }
    pub(super) fn began(&self) -> Time {
        self.began
    }
    pub(super) fn waiting(&self, now: Time) -> Option<Waiting> {
        let least = self.least.filter(|_| self.count >= PACKETS_MIN)?;
        let (mean, middle) = (self.transit / self.count, self.time / self.count);
        let spread = self.time_square / self.count - middle * middle;
        let together = self.product / self.count - middle * mean;
        let slope = if spread > 1e-9 { together / spread } else { 0.0 };
        let end = mean + slope * (now.since(self.began).as_secs_f64() - middle);
        Some(Waiting { mean, end: end.max(least), least, slope })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    #[test]
    fn a_line_through_transits_tells_growth_and_where_it_ends() {
        let mut stretch = Stretch::new(Time::ZERO);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        assert_eq!(stretch.waiting(at(0)), None);
        // 30 ms, and half a millisecond more each millisecond, give or take 4 ms.
        for ms in 0..200 {
            let noise = if ms % 2 == 0 { 0.004 } else { -0.004 };
            stretch.add(at(ms), 0.03 + 0.0005 * ms as f64 + noise);
        }
        let waiting = stretch.waiting(at(200)).unwrap();
        assert!((waiting.slope - 0.5).abs() < 0.01 && (waiting.end - 0.13).abs() < 0.002);
        assert!((waiting.mean - 0.08).abs() < 0.001 && (waiting.least - 0.0265).abs() < 1e-9);
    }
}
