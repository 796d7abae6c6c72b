//! The queue on the path, from transit times: how long packets wait, and whether that time grows.

use crate::layered::Arrival;
use alloc::vec::Vec;
use fanfare_wire::units::time::Time;

/// Fewer packets tell neither a mean nor a slope.
const PACKETS_MIN: f64 = 4.0;
/// Pairs that tell what a line carries now.
const PAIRS_MIN: usize = 5;
/// More are not kept: a beginning that lasts must not gather them without end.
const PAIRS_MAX: usize = 4096;
/// Less time between departures tells no rate, seconds.
const SENT_MIN: f64 = 0.001;
/// Three times what passes; beyond, a few packets tell the slope badly.
const SLOPE_MAX: f64 = 2.0 / 3.0;

/// Transits of one stretch of time, as sums for a line of least squares.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TransitTrend {
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

impl Waiting {
    /// What came above what passed, as a share of that. Packets that wait ever longer arrive as much
    /// further apart as they wait longer: what the line gets in a second takes more than a second to
    /// come out.
    pub(super) fn over(&self) -> f64 {
        let slope = self.slope.clamp(0.0, SLOPE_MAX);
        slope / (1.0 - slope)
    }
}

impl TransitTrend {
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

/// A queue that does not empty: the line is never idle, and what of its time was not ours was others'.
#[derive(Debug, Clone, Default)]
pub(super) struct BusyPeriod {
    /// The packet that waited least: when it arrived, and its transit.
    from: Option<(Time, f64)>,
    /// The newest.
    to: Option<(Time, f64)>,
    bits: f64,
    pairs: Vec<f64>,
}

impl BusyPeriod {
    pub(super) fn add(&mut self, now: Time, arrival: &Arrival) {
        let transit = arrival.transit;
        if self.from.is_none_or(|(_, least)| transit <= least) {
            *self = Self { from: Some((now, transit)), ..Self::default() };
            return;
        }
        self.bits += 8.0 * arrival.bytes as f64;
        self.to = Some((now, transit));
        self.pairs.extend(arrival.pair.filter(|_| self.pairs.len() < PAIRS_MAX));
    }
    /// Bit/s that come above what the line carries when this is what we send, and it carries
    /// `capacity` unless the pairs of this time say otherwise. What it carried between two of our
    /// packets and was not ours came to it between their departures. `None`: nobody knows.
    pub(super) fn excess(&self, ours: f64, capacity: f64) -> Option<f64> {
        let ((from, least), (to, transit)) = (self.from?, self.to?);
        let took = to.since(from).as_secs_f64();
        let sent = took - (transit - least);
        let capacity =
            median(&self.pairs).filter(|_| self.pairs.len() >= PAIRS_MIN).unwrap_or(capacity);
        let others = ((capacity * took - self.bits) / sent).max(0.0);
        (sent > SENT_MIN).then_some(ours + others - capacity)
    }
}

/// The middle one.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::{Duration, at};

    #[test]
    fn a_line_through_transit_times_gives_their_growth_and_end() {
        let mut trend = TransitTrend::new(Time::ZERO);
        assert_eq!(trend.waiting(at(0)), None);
        // 30 ms, and half a millisecond more each millisecond, give or take 4 ms.
        for ms in 0..200 {
            let noise = if ms % 2 == 0 { 0.004 } else { -0.004 };
            trend.add(at(ms), 0.03 + 0.0005 * ms as f64 + noise);
        }
        let waiting = trend.waiting(at(200)).unwrap();
        assert!((waiting.slope - 0.5).abs() < 0.01 && (waiting.end - 0.13).abs() < 0.002);
        assert!((waiting.mean - 0.08).abs() < 0.001 && (waiting.least - 0.0265).abs() < 1e-9);
    }

    #[test]
    fn growing_queueing_delay_is_not_taken_for_a_lower_sending_rate() {
        // One and a half times what passes: half a second of waiting more in each second of sending, a
        // third in each of arriving.
        let waiting = Waiting { mean: 0.0, end: 0.0, least: 0.0, slope: 1.0 / 3.0 };
        assert!((waiting.over() - 0.5).abs() < 1e-9);
        assert_eq!(Waiting { slope: -0.2, ..waiting }.over(), 0.0);
    }

    /// A busy line of 1 Mbit/s: we fill it by pairs, and so many packets of others go with each of ours.
    fn busy(others: u32, pair: f64) -> BusyPeriod {
        let (mut busy, mut arrives) = (BusyPeriod::default(), 0.0);
        for n in 0..60 {
            // Pairs: two at once, twice as long apart.
            let sent = f64::from(n / 2) * 0.008192;
            arrives = f64::max(arrives, sent + 0.03) + 0.004096 * f64::from(1 + others);
            let now = Time::ZERO + Duration::from_secs_f64(arrives);
            let (_, packet) = crate::layered::tests::arrival(0);
            let pair = (n % 2 == 1).then_some(pair);
            busy.add(now, &Arrival { transit: arrives - sent, pair, ..packet });
        }
        busy
    }

    #[test]
    fn the_traffic_of_others_is_the_part_of_a_busy_line_that_is_not_ours() {
        // As much again comes of others: 1 Mbit/s too much, whatever our packets' rhythm.
        let excess = busy(1, 1e6).excess(1e6, 1e6).unwrap();
        assert!((excess / 1e6 - 1.0).abs() < 0.05, "{excess}");
        assert_eq!(BusyPeriod::default().excess(1e6, 1e6), None);
    }

    #[test]
    fn a_slower_line_is_not_taken_for_other_traffic() {
        // The same arrivals, and pairs that are as far apart as they: 500 kbit/s is all there is.
        let excess = busy(1, 5e5).excess(1e6, 1e6).unwrap();
        assert!((excess / 5e5 - 1.0).abs() < 0.05, "{excess}");
    }
}
