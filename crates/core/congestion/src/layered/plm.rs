//! PLM: the rate that packet pairs measure, for networks whose routers all use fair queueing
//! (Legout and Biersack 2000; thesis 4.5; what the thesis leaves open is taken from ns-2's
//! plm.tcl).

use super::{Arrival, LayeredController, SessionParameters};
use alloc::vec::Vec;
use fanfare_wire::units::time::{Duration, Time};

/// Pairs that an estimate needs, and how often there is one (thesis, table 4-5).
const PAIRS_MIN: usize = 3;
const CHECK: Duration = Duration::from_secs(1);
/// Loss that drops a layer when no pair arrives, and how long it is not looked at after that.
const LOSS_MAX: f64 = 0.1;
const BLIND: Duration = Duration::from_millis(500);
/// plm.tcl: packets that a loss rate needs; silence that drops a layer; time out of the session.
const PACKETS_MIN: u32 = 10;
const SILENCE: Duration = Duration::from_secs(5);
const AWAY: Duration = Duration::from_secs(30);

/// A PLM receiver.
#[derive(Debug)]
pub struct Plm {
    terms: SessionParameters,
    level: usize,
    samples: Vec<f64>,
    check_at: Time,
    heard: Time,
    blind_until: Time,
    received: u32,
    lost: u32,
    away_until: Option<Time>,
}

impl Plm {
    /// With the base layer.
    #[must_use]
    pub fn new(now: Time, terms: SessionParameters) -> Self {
        Self {
            terms,
            level: 1,
            samples: Vec::new(),
            check_at: now + CHECK,
            heard: now,
            blind_until: now,
            received: 0,
            lost: 0,
            away_until: None,
        }
    }

    fn drop_to(&mut self, now: Time, level: usize) {
        self.level = level.min(self.level);
        if self.level == 0 {
            self.away_until = Some(now + AWAY);
        }
    }

    fn check(&mut self, now: Time) {
        self.check_at = now + CHECK;
        if now.since(self.heard) >= SILENCE {
            self.heard = now;
            self.drop_to(now, self.level - 1);
        } else if self.samples.len() >= PAIRS_MIN {
            let least = self.samples.iter().copied().fold(f64::INFINITY, f64::min);
            // Below the estimate, not at it: that keeps the queue empty.
            let level = self.terms.layers.level_below(least);
            if level < self.level {
                self.drop_to(now, level);
            }
            self.level = level;
            self.samples.clear();
        } else if self.samples.is_empty() && now >= self.blind_until {
            self.judge_loss(now);
        }
    }

    fn judge_loss(&mut self, now: Time) {
        let packets = self.received + self.lost;
        if packets >= PACKETS_MIN && f64::from(self.lost) > LOSS_MAX * f64::from(packets) {
            self.drop_to(now, self.level - 1);
            self.blind_until = now + BLIND;
        }
        (self.received, self.lost) = (0, 0);
    }
}

impl LayeredController for Plm {
    fn on_packet(&mut self, now: Time, arrival: &Arrival) {
        self.heard = now;
        self.received += 1;
        self.lost += arrival.lost;
        let Some(sample) = arrival.pair else { return };
        self.samples.push(sample);
        // The first pair that leaves a queue after congestion tells of it: no waiting for more.
        if sample < self.terms.layers.sum(self.level) {
            self.samples.clear();
            let level = self.terms.layers.level_below(sample);
            self.drop_to(now, level);
        }
    }
    fn on_timeout(&mut self, now: Time) {
        if self.away_until.is_some_and(|until| until <= now) {
            *self = Self::new(now, self.terms.clone());
        } else if self.away_until.is_none() && self.check_at <= now {
            self.check(now);
        }
    }
    fn next_timeout(&self) -> Option<Time> {
        Some(self.away_until.unwrap_or(self.check_at))
    }
    fn level(&self) -> usize {
        self.level
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{arrival, terms};
    use super::*;
    use fanfare_wire::units::time::at;

    fn pairs(plm: &mut Plm, ms: u64, rates: &[f64]) {
        for rate in rates {
            let (now, packet) = arrival(ms);
            plm.on_packet(now, &Arrival { pair: Some(*rate), ..packet });
        }
    }

    #[test]
    fn the_lowest_pair_of_a_second_is_not_reached() {
        let mut plm = Plm::new(Time::ZERO, terms());
        pairs(&mut plm, 500, &[5e5, 3e5, 4e5]);
        plm.on_timeout(at(1000));
        assert_eq!(plm.level(), 14);
    }

    #[test]
    fn two_pairs_are_no_estimate_and_one_below_the_rate_drops_at_once() {
        let mut plm = Plm::new(Time::ZERO, terms());
        pairs(&mut plm, 500, &[5e5, 5e5]);
        plm.on_timeout(at(1000));
        assert_eq!(plm.level(), 1);
        pairs(&mut plm, 1500, &[5e5]);
        plm.on_timeout(at(2000));
        assert_eq!(plm.level(), 24);
        pairs(&mut plm, 2100, &[2.5e5]);
        assert_eq!(plm.level(), 12);
    }

    #[test]
    fn loss_without_pairs_drops_a_layer_and_silence_leaves_the_session_for_a_while() {
        let mut plm = Plm::new(Time::ZERO, terms());
        pairs(&mut plm, 900, &[5e4; 3]);
        plm.on_timeout(at(1000));
        assert_eq!(plm.level(), 2);
        let (now, packet) = arrival(1500);
        (0..10).for_each(|_| plm.on_packet(now, &Arrival { lost: 1, ..packet }));
        plm.on_timeout(at(2000));
        assert_eq!(plm.level(), 1);
        plm.on_timeout(at(7000));
        assert_eq!((plm.level(), plm.next_timeout()), (0, Some(at(37_000))));
        plm.on_timeout(at(37_000));
        assert_eq!(plm.level(), 1);
    }
}
