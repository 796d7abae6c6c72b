//! ERA as it was published (thesis 5.5.3, defaults of table 6-1, trace of appendix C).
//!
//! The text leaves two things open. Here they follow its trace. A target that is a sum of layers is
//! reached (400 kbit/s is layer 19, counted from 0). Without loss and without enough packet pairs
//! the text would set the target to -1 and drop everything; here the level stays.

use super::intervals::Intervals;
use crate::{
    equation_rate,
    layered::{Arrival, LayeredController, SessionParameters},
};
use alloc::vec::Vec;
use fanfare_wire::units::time::{Duration, Time};

/// Pairs that an estimate needs (table 6-1).
const PAIRS_MIN: usize = 3;

/// What the published rule aims at; `None` keeps what is.
///
/// `packet_pairs` is the least estimate of the interval, when there were enough.
#[must_use]
pub fn target(pairs: Option<f64>, loss: f64, rtt: Duration, packet: f64) -> Option<f64> {
    if loss <= 0.0 {
        return pairs;
    }
    let tcp = 8.0 * equation_rate(packet, rtt, loss);
    Some(pairs.map_or(tcp, |pairs| pairs.min(tcp)))
}

/// The published receiver.
#[derive(Debug)]
pub struct Published {
    terms: SessionParameters,
    level: usize,
    intervals: Intervals,
    samples: Vec<f64>,
    received: u32,
    lost: u32,
    transit: f64,
}

impl Published {
    /// With the base layer.
    #[must_use]
    pub fn new(_now: Time, terms: SessionParameters) -> Self {
        let intervals = Intervals::new(terms.interval);
        Self { terms, level: 1, intervals, samples: Vec::new(), received: 0, lost: 0, transit: 0.0 }
    }

    fn adapt(&mut self) {
        let enough = self.samples.len() >= PAIRS_MIN;
        let least = self.samples.iter().copied().fold(f64::INFINITY, f64::min);
        let packets = f64::from(self.received + self.lost).max(1.0);
        // Equation 5-3: clocks agree, paths are symmetric, and the latency has the queue in it.
        let mean = self.transit / f64::from(self.received.max(1));
        let rtt = Duration::from_secs_f64((2.0 * mean).max(1e-3));
        let loss = f64::from(self.lost) / packets;
        let target = target(enough.then_some(least), loss, rtt, f64::from(self.terms.packet));
        if let Some(target) = target {
            // The thesis lets who cannot keep the lowest layer leave the session; a transfer goes on.
            self.level = self.terms.layers.level_at(target).max(1);
        }
        // Too few pairs for an estimate count in the next interval, too.
        if enough {
            self.samples.clear();
        }
        (self.received, self.lost, self.transit) = (0, 0, 0.0);
    }
}

impl LayeredController for Published {
    fn on_packet(&mut self, _now: Time, arrival: &Arrival) {
        if self.intervals.turn(arrival.header.sent) {
            self.adapt();
        }
        self.received += 1;
        self.lost += arrival.lost;
        self.transit += arrival.transit;
        if let Some(sample) = arrival.pair {
            self.samples.push(sample);
            if self.terms.layers.sum(self.level) > sample {
                self.level = self.terms.layers.level_at(sample).max(1).min(self.level);
            }
        }
    }
    fn level(&self) -> usize {
        self.level
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layered::tests::{arrival, terms};

    /// The level after one interval with these pairs and this loss, from a level before.
    fn level(before: usize, pairs: &[f64], lost: u32, received: u32) -> usize {
        let mut era = Published::new(Time::ZERO, terms());
        era.on_packet(arrival(30).0, &arrival(30).1);
        era.level = before;
        era.samples = pairs.to_vec();
        (era.lost, era.received, era.transit) = (lost, received, f64::from(received) * 0.025);
        let (now, next) = arrival(1040);
        era.on_packet(now, &next);
        era.level
    }

    #[test]
    fn it_does_what_the_trace_of_appendix_c_shows() {
        // Step 1, at 2.95 s: 17 pairs of 400 kbit/s, no loss. The thesis counts layers from 0:
        // its target layer 19 are 20 layers.
        let pairs = [399_999.999_999_998_95; 17];
        assert_eq!(target(Some(pairs[0]), 0.0, Duration::ZERO, 512.0), Some(pairs[0]));
        assert_eq!(level(8, &pairs, 0, 34), 19 + 1);
        // Step 2, at 22.15 s: 13 pairs of 400 and one of 200 kbit/s, 4 of 832 packets lost.
        let mut pairs = [400_000.000_000_016_3; 14];
        pairs[13] = 200_000.000_000_008_15;
        assert_eq!(level(20, &pairs, 4, 828), 9 + 1);
        // Its round trip of 50 ms gives the traced rate of TCP, which is not the lesser.
        let alone = target(None, 4.0 / 832.0, Duration::from_millis(50), 512.0);
        assert!(alone.is_some_and(|tcp| (tcp - 1_386_939.507_304_453_8).abs() < 1e-3), "{alone:?}");
    }

    #[test]
    fn a_pair_below_the_rate_drops_layers_at_once() {
        let mut era = Published::new(Time::ZERO, terms());
        era.level = 20;
        let (now, packet) = arrival(30);
        era.on_packet(now, &Arrival { pair: Some(2e5), ..packet });
        assert_eq!(era.level(), 10);
    }

    #[test]
    fn without_pairs_loss_alone_decides_and_without_either_nothing_changes() {
        assert_eq!(level(20, &[4e5; 2], 0, 30), 20);
        // 10 % lost, 50 ms: 145 kbit/s.
        assert_eq!(level(20, &[4e5; 2], 3, 27), 7);
    }
}
