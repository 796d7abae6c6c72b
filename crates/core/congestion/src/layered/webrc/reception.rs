//! Rates of reception (RFC 3738 3.2.2.5): TRR_P, of what arrives, and ARR_P, of all channels that
//! are joined, whether or not it arrives. In packets a second.

use super::{super::timing::EPOCH, waves::WaveShape};

/// The rates, with the counts of the epoch that runs.
#[derive(Debug, Clone)]
pub(super) struct Reception {
    shape: WaveShape,
    epoch: f64,
    received: u32,
    lost: u32,
    /// RR_P: of the epoch that ended.
    newest: f64,
    /// RRmax: the most of it since the last join.
    highest: f64,
    /// TRR_P.
    arriving: f64,
    /// ARR_P.
    joined: f64,
}

impl Reception {
    /// From the first packet of the base channel on, which is so many after its slot's first.
    pub(super) fn new(shape: WaveShape, into_slot: u32) -> Self {
        let rate = shape.base + f64::from(into_slot) * libm::log(shape.fall) / shape.slot;
        let (arriving, joined) = (rate, rate);
        let (received, lost, newest, highest) = (0, 0, 0.0, 0.0);
        let epoch = EPOCH.as_secs_f64();
        Self { shape, epoch, received, lost, newest, highest, arriving, joined }
    }
    pub(super) fn on_packet(&mut self, lost: u32) {
        self.received += 1;
        self.lost += lost;
    }

    /// An epoch is over, with so many waves joined.
    pub(super) fn on_epoch(&mut self, waves: usize, is_starting: bool) {
        let (p, share) = (self.shape.fall, self.epoch / self.shape.slot);
        let beta = match is_starting {
            true => (1.0 - libm::pow(p, 0.25)) / 2.0,
            false => 1.0 - libm::pow(p / (1.0 + p), share),
        };
        let zeta = self.zeta(is_starting);
        self.newest = f64::from(self.received) / self.epoch;
        let with_lost = f64::from(self.received + self.lost) / self.epoch;
        (self.received, self.lost) = (0, 0);
        self.highest = self.highest.max(self.newest);
        self.arriving = (1.0 - zeta) * self.arriving + zeta * self.newest;
        let decayed = libm::pow(p, share) * (1.0 - beta) * self.joined;
        self.joined = (decayed + beta * with_lost).min(self.shape.sum(waves));
    }
    fn zeta(&self, is_starting: bool) -> f64 {
        let root = libm::sqrt(self.shape.fall);
        match is_starting {
            true => root / (1.0 + root),
            false => 2.0 * self.epoch / (4.0 + self.shape.slot),
        }
    }
    /// A wave was joined; `waves` counts it.
    pub(super) fn on_join(&mut self, waves: usize) {
        let n = waves as i32;
        self.joined *= self.shape.growth(n + 1) / self.shape.growth(n);
        self.highest = 0.0;
    }
    /// A join failed; `waves` counts the wave that did not come.
    pub(super) fn on_failed_join(&mut self, waves: usize) {
        let n = waves as i32;
        self.joined *= self.shape.growth(n) / self.shape.growth(n + 1);
    }
    /// A slot began: the base channel starts over, and the lowest wave, if one was joined, is over.
    pub(super) fn on_slot(&mut self, had_waves: bool) {
        let (p, base) = (self.shape.fall, self.shape.base);
        self.joined += if had_waves { -p * base } else { (1.0 - p) * base };
        self.joined = self.joined.max(p * base);
    }

    pub(super) fn arriving(&self) -> f64 {
        self.arriving
    }
    pub(super) fn joined(&self) -> f64 {
        self.joined
    }
    /// The rate with one wave more.
    pub(super) fn with_next(&self, waves: usize) -> f64 {
        let n = waves as i32;
        self.joined * self.shape.growth(n + 2) / self.shape.growth(n + 1)
    }
    /// Whether what arrives is low enough, beside its most since the last join, for another one.
    pub(super) fn has_fallen(&self) -> bool {
        self.newest <= (self.highest - 2.0 / self.epoch).max(self.shape.fall * self.highest)
    }
    /// Slow start: whether much less arrives than the last join should have brought (3.2.2.6).
    pub(super) fn falls_short(&self, waves: usize) -> bool {
        let (p, zeta) = (self.shape.fall, self.zeta(true));
        let epoch = libm::pow(p, -self.epoch / self.shape.slot);
        let n = waves.max(1) as i32;
        let growth = self.shape.growth(n + 1) / self.shape.growth(n);
        let inner = zeta + (1.0 - zeta) * libm::sqrt(p) * epoch;
        let c = zeta + (1.0 - zeta) * epoch * inner / growth;
        self.arriving < c * self.joined - 2.0 / self.epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: WaveShape = WaveShape { base: 100.0, fall: 0.75, active: 9, slot: 10.0 };

    #[test]
    fn the_rate_of_joined_channels_follows_joins_and_slots_without_a_measurement() {
        let mut rates = Reception::new(SHAPE, 0);
        assert!((rates.joined() - 100.0).abs() < 1e-9);
        rates.on_join(1);
        assert!((rates.joined() - SHAPE.sum(1)).abs() < 1e-9, "{}", rates.joined());
        rates.on_join(2);
        assert!((rates.joined() - SHAPE.sum(2)).abs() < 1e-9);
        rates.on_failed_join(2);
        assert!((rates.joined() - SHAPE.sum(1)).abs() < 1e-9);
        assert!((rates.with_next(1) - SHAPE.sum(2)).abs() < 1e-9);
        // After a slot of decay, 175, the wave is over: the base channel alone, from its beginning.
        rates.joined *= SHAPE.fall;
        rates.on_slot(true);
        assert!((rates.joined() - 100.0).abs() < 1e-9, "{}", rates.joined());
    }

    #[test]
    fn an_epoch_measures_what_arrives_and_what_was_sent() {
        let mut rates = Reception::new(SHAPE, 0);
        rates.on_join(1);
        for _ in 0..400 {
            (0..50).for_each(|n| rates.on_packet(u32::from(n % 2 == 0)));
            rates.on_epoch(1, false);
        }
        // 100 packets a second arrive, 150 were sent: 150 b / (1 - P^(1/20) (1 - b)), with b = 0.0415.
        assert!((rates.arriving() - 100.0).abs() < 1e-6);
        assert!((rates.joined() - 112.78).abs() < 0.01, "{}", rates.joined());
    }

    #[test]
    fn a_join_that_brings_nothing_ends_slow_start_and_one_that_brings_its_wave_does_not() {
        for (packets, short) in [(50, true), (116, false)] {
            let mut rates = Reception::new(SHAPE, 0);
            (0..50).for_each(|_| rates.on_packet(0));
            rates.on_epoch(0, true);
            rates.on_join(1);
            for _ in 0..2 {
                (0..packets).for_each(|_| rates.on_packet(0));
                rates.on_epoch(1, true);
            }
            assert_eq!(rates.falls_short(1), short, "{packets}: {rates:?}");
        }
    }

    #[test]
    fn another_join_waits_until_a_packet_less_arrives_in_an_epoch_than_at_most() {
        let mut rates = Reception::new(SHAPE, 0);
        let mut epoch = |packets| {
            (0..packets).for_each(|_| rates.on_packet(0));
            rates.on_epoch(1, false);
            rates.has_fallen()
        };
        // RRmax is 200 a second, and 2 / EL is 4.
        assert_eq!([epoch(100), epoch(99), epoch(98)], [false, false, true]);
    }
}
