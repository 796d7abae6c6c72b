//! The multicast round trip: from a join to the first packet of the channel (RFC 3738 3.2.2.2).
//!
//! The first packet of a channel does not come when the join has arrived, but half a period later
//! on average. What measurements vary by decides how much the newest one counts.

/// Alpha.
const GAIN: f64 = 0.25;
/// No join is answered sooner: below it, clocks and schedulers are measured.
const LEAST: f64 = 1e-3;

/// The averages ARTT and V, in seconds.
#[derive(Debug, Clone)]
pub(super) struct JoinTime {
    /// P: the average falls by no more at one measurement.
    fall: f64,
    average: f64,
    square: f64,
    count: u32,
    /// The time of the last wave, for the increase of which slow start ends.
    last: Option<f64>,
}

impl JoinTime {
    /// From the base channel's first packet.
    pub(super) fn new(took: f64, fall: f64) -> Self {
        let average = took.max(LEAST);
        Self { fall, average, square: average * average, count: 0, last: None }
    }
    /// The first packet of a wave came so long after the join, and `half_period` of it is the
    /// wave's own. Gives by how much more that was than for the wave before.
    pub(super) fn on_wave(&mut self, took: f64, half_period: f64) -> f64 {
        let sample = took - half_period;
        self.count += 1;
        let omega = GAIN * self.average * self.average / self.square;
        let rho = omega / (1.0 - libm::pow(1.0 - omega, f64::from(self.count) + 1.0));
        self.square = ((1.0 - rho) * self.square + rho * sample * sample).max(LEAST * LEAST);
        let average = (1.0 - rho) * self.average + rho * sample;
        self.average = average.max(self.fall * self.average).max(LEAST);
        let increase = self.last.map_or(0.0, |last| took - last);
        self.last = Some(took);
        increase
    }
    pub(super) fn average(&self) -> f64 {
        self.average
    }
    /// After so many seconds without a packet a join has failed (3.2.3.7).
    pub(super) fn patience(&self) -> f64 {
        (2.0 * self.square / self.average).max(10.0 * self.average)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_measurements_give_their_value_and_one_never_lowers_it_by_more_than_a_quarter() {
        let mut join = JoinTime::new(1.0, 0.75);
        join.on_wave(0.12, 0.02);
        assert!((join.average() - 0.75).abs() < 1e-9, "{join:?}");
        (0..60).for_each(|_| {
            let before = join.average();
            join.on_wave(0.12, 0.02);
            assert!(join.average() >= 0.75 * before - 1e-12);
        });
        assert!((join.average() - 0.1).abs() < 0.005, "{join:?}");
    }

    #[test]
    fn the_weight_of_a_measurement_falls_when_they_vary() {
        let (mut calm, mut wild) = (JoinTime::new(0.1, 0.75), JoinTime::new(0.1, 0.75));
        for n in 0..100 {
            calm.on_wave(0.1, 0.0);
            wild.on_wave(if n % 10 == 9 { 1.0 } else { 0.0 }, 0.0);
        }
        let (before_calm, before_wild) = (calm.average(), wild.average());
        calm.on_wave(0.2, 0.0);
        wild.on_wave(before_wild + 0.1, 0.0);
        assert!(calm.average() - before_calm > 2.0 * (wild.average() - before_wild));
    }

    #[test]
    fn a_packet_at_once_is_a_measurement_below_zero_and_the_average_stays_above_it() {
        let mut join = JoinTime::new(0.0, 0.75);
        (0..50).for_each(|_| _ = join.on_wave(0.0, 0.3));
        assert!(join.average() >= LEAST && join.patience() >= 10.0 * LEAST);
    }

    #[test]
    fn it_tells_how_much_later_than_the_wave_before_this_one_came() {
        let mut join = JoinTime::new(0.5, 0.75);
        assert_eq!(join.on_wave(0.1, 0.0), 0.0);
        assert!((join.on_wave(0.3, 0.0) - 0.2).abs() < 1e-12);
    }
}
