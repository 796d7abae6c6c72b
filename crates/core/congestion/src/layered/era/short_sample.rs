//! A short measurement of arrivals: how long packets wait, how many arrive, how many are lost.

use super::queue::{TransitTrend, Waiting};
use crate::layered::Arrival;
use fanfare_wire::units::time::Time;

/// Less time than this tells no rate, seconds.
const LEAST: f64 = 1e-3;

/// What came since it began.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShortSample {
    transits: TransitTrend,
    bits: f64,
    lost: f64,
}

impl ShortSample {
    pub(super) fn new(began: Time) -> Self {
        Self { transits: TransitTrend::new(began), bits: 0.0, lost: 0.0 }
    }
    /// A packet, and how many were lost before it.
    pub(super) fn add(&mut self, now: Time, arrival: &Arrival, lost: u32) {
        self.transits.add(now, arrival.transit);
        self.bits += 8.0 * arrival.bytes as f64;
        self.lost += f64::from(lost);
    }
    pub(super) fn began(&self) -> Time {
        self.transits.began()
    }
    pub(super) fn packets(&self) -> f64 {
        self.transits.packets()
    }
    pub(super) fn has_lost(&self) -> bool {
        self.lost > 0.0
    }
    /// What was lost of what was sent.
    pub(super) fn share_lost(&self) -> f64 {
        self.lost / (self.packets() + self.lost)
    }
    pub(super) fn waiting(&self, now: Time) -> Option<Waiting> {
        self.transits.waiting(now)
    }
    /// Bit/s that arrived.
    pub(super) fn passed(&self, now: Time) -> f64 {
        self.bits / now.since(self.began()).as_secs_f64().max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layered::tests::arrival;
    use fanfare_wire::units::time::at;

    #[test]
    fn a_sample_says_what_arrived_and_which_share_was_lost() {
        let mut sample = ShortSample::new(at(100));
        for n in 1..=4 {
            let (now, arrival) = arrival(100 + 10 * n);
            sample.add(now, &Arrival { bytes: 500, ..arrival }, u32::from(n == 2));
        }
        assert!(sample.has_lost());
        assert_eq!((sample.packets(), sample.share_lost()), (4.0, 0.2));
        assert_eq!(sample.passed(at(140)), 400_000.0);
        assert!(sample.waiting(at(140)).is_some());
    }
}
