//! What a WEBRC sender sends when (RFC 3738 3.1).
//!
//! Wave channel i is active in the N slots that end with slot i, and falls to the base rate at the
//! end of it. So the time of a packet follows from its number, counted back from the end: no state
//! but the next number.

use alloc::vec::Vec;

use super::super::{
    Layers,
    timing::{QUIET, WAVE_SLOT},
};

/// The last packet of a wave has this number (3.1.2, long format).
const LAST: u32 = u32::MAX;

/// How waves look. Rates are in packets a second, times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaveShape {
    /// BCR_P: the base channel's, at the beginning of a slot.
    pub base: f64,
    /// P: what is left of a channel's rate after a slot.
    pub fall: f64,
    /// N: waves that are active at a time.
    pub active: usize,
    /// TSD: a slot.
    pub slot: f64,
}

impl WaveShape {
    /// Of a session's layers, of which the first is the base channel.
    #[must_use]
    pub fn of(layers: &Layers, packet: u16) -> Self {
        let bits = 8.0 * f64::from(packet);
        let active = layers.count() - 1;
        // A session without waves has only the base channel, whose rate falls as RFC 3738 says.
        let fall = if active == 0 { 0.75 } else { layers.rate(0) / layers.rate(1) };
        Self { base: layers.rate(0) / bits, fall, active, slot: WAVE_SLOT.as_secs_f64() }
    }
    /// T: wave channels, active and quiet ones.
    #[must_use]
    pub const fn channels(&self) -> usize {
        self.active + QUIET as usize
    }
    /// L: packets of the base channel in a slot.
    #[must_use]
    pub fn base_packets(&self) -> u32 {
        let packets = self.base * self.slot * (self.fall - 1.0) / libm::log(self.fall);
        libm::ceil(packets - 1e-9) as u32
    }
    /// The rate of a layer, from 0 for the base channel, so long after a slot's beginning.
    #[must_use]
    pub fn rate(&self, layer: usize, into_slot: f64) -> f64 {
        self.base * libm::pow(self.fall, into_slot / self.slot - layer as f64)
    }
    /// The rate of the base channel and the first `waves` layers at a slot's beginning: ARR_P_max.
    #[must_use]
    pub fn sum(&self, waves: usize) -> f64 {
        self.growth(waves as i32 + 1) / self.growth(1) * self.base
    }
    /// (1/P)^n - 1.
    pub(super) fn growth(&self, n: i32) -> f64 {
        libm::pow(self.fall, -f64::from(n)) - 1.0
    }
    /// Packets that a wave still has, so long before its end.
    fn left(&self, before_end: f64) -> f64 {
        let steep = -libm::log(self.fall);
        self.base * self.slot / steep * (libm::pow(self.fall, -before_end / self.slot) - 1.0)
    }
    /// How long before the end of its wave a wave has so many packets left.
    fn before_end(&self, left: f64) -> f64 {
        let steep = -libm::log(self.fall);
        self.slot * libm::log(1.0 + left * steep / (self.base * self.slot)) / steep
    }
    /// How long after a slot's beginning packet `n` of the base channel goes.
    fn base_due(&self, n: u32) -> f64 {
        let steep = -libm::log(self.fall);
        let rate = 1.0 - f64::from(n) * steep / (self.base * self.slot);
        -self.slot * libm::log(rate) / steep
    }
}

/// A packet that is due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Due {
    /// Seconds from the session's beginning.
    pub at: f64,
    /// 0 for the base channel, i + 1 for wave channel i.
    pub channel: usize,
    /// The layer that it is in this slot.
    pub layer: usize,
    /// Its number (PSN).
    pub sequence: u32,
    /// Its slot, not wrapped.
    pub slot: u32,
}

/// Where a wave channel stands.
#[derive(Debug, Clone, Copy)]
struct Wave {
    /// When the wave ends.
    ends: f64,
    /// Packets left.
    left: u32,
    /// What of a packet's distance the last one has to the end: channels do not go in step.
    phase: f64,
}

/// The schedule of a session's channels.
#[derive(Debug)]
pub struct Waves {
    shape: WaveShape,
    base_sent: u32,
    waves: Vec<Wave>,
}

impl Waves {
    /// From a session's beginning on, with a phase for each wave channel.
    #[must_use]
    pub fn new(shape: WaveShape, mut phase: impl FnMut() -> f64) -> Self {
        let wave = |number: usize| {
            let mut wave = Wave { ends: 0.0, left: 0, phase: phase() };
            wave.begin(&shape, (number as f64 + 1.0) * shape.slot, 0.0);
            wave
        };
        Self { shape, base_sent: 0, waves: (0..shape.channels()).map(wave).collect() }
    }

    fn base(&self) -> Due {
        let packets = self.shape.base_packets();
        let (slot, n) = (self.base_sent / packets, self.base_sent % packets);
        let at = f64::from(slot) * self.shape.slot + self.shape.base_due(n);
        Due { at, channel: 0, layer: 0, sequence: self.base_sent, slot }
    }
    fn wave(&self, number: usize) -> Due {
        let wave = &self.waves[number];
        let left = wave.left - 1;
        let at = wave.ends - self.shape.before_end(f64::from(left) + wave.phase);
        let slot = libm::floor(at / self.shape.slot + 1e-9) as u32;
        let last = libm::floor(wave.ends / self.shape.slot + 0.5) as u32 - 1;
        let layer = (last.saturating_sub(slot) + 1) as usize;
        Due { at, channel: number + 1, layer, sequence: LAST - left, slot }
    }
    /// The next packet of a channel, 0 for the base channel.
    #[must_use]
    pub fn due(&self, channel: usize) -> Due {
        if channel == 0 { self.base() } else { self.wave(channel - 1) }
    }
    /// Channels, the base channel included.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.waves.len() + 1
    }
    /// Seconds between packets of a channel now.
    #[must_use]
    pub fn period(&self, due: &Due) -> f64 {
        1.0 / self.shape.rate(due.layer, due.at % self.shape.slot)
    }
    /// The next packet of a channel has gone.
    pub fn sent(&mut self, channel: usize) {
        if channel == 0 {
            self.base_sent += 1;
            return;
        }
        let cycle = self.shape.channels() as f64 * self.shape.slot;
        let wave = &mut self.waves[channel - 1];
        wave.left -= 1;
        if wave.left == 0 {
            let ends = wave.ends + cycle;
            wave.begin(&self.shape, ends, ends - self.shape.active as f64 * self.shape.slot);
        }
    }
}

impl Wave {
    /// A wave that ends then; what would have gone before `from` does not.
    fn begin(&mut self, shape: &WaveShape, ends: f64, from: f64) {
        let begins = from.max(ends - shape.active as f64 * shape.slot);
        self.ends = ends;
        self.left = libm::floor(shape.left(ends - begins) - self.phase + 1.0).max(1.0) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const SHAPE: WaveShape = WaveShape { base: 1.0, fall: 0.75, active: 4, slot: 10.0 };

    /// Packets of a channel in so many slots: slot and layer of each.
    fn sent(channel: usize, slots: u32) -> Vec<Due> {
        let mut waves = Waves::new(SHAPE, || 0.5);
        let mut out = Vec::new();
        while waves.due(channel).slot < slots {
            out.push(waves.due(channel));
            waves.sent(channel);
        }
        out
    }

    #[test]
    fn every_channel_has_the_rate_of_the_table_in_each_slot() {
        // By hand from 3.1.2: rates at a slot's beginning and end, packets a second.
        for (layer, begins, ends) in [
            (0, 1.0, 0.75),
            (1, 1.333_333, 1.0),
            (2, 1.777_778, 1.333_333),
            (3, 2.370_370, 1.777_778),
            (4, 3.160_494, 2.370_370),
        ] {
            assert!((SHAPE.rate(layer, 0.0) - begins).abs() < 1e-5, "{layer}");
            assert!((SHAPE.rate(layer, 10.0) - ends).abs() < 1e-5, "{layer}");
        }
        // Wave channel 3 is layers 4, 3, 2, 1 in slots 0 to 3, then quiet for 30 of 34 slots.
        // Packets: 10 (1/P)^n (1 - P) / ln(1/P) = 27.46, 20.60, 15.45, 11.59.
        let packets = sent(4, 40);
        for (slot, layer, count) in
            [(0, 4, 27.46), (1, 3, 20.60), (2, 2, 15.45), (3, 1, 11.59), (34, 4, 27.46)]
        {
            let of: Vec<&Due> = packets.iter().filter(|due| due.slot == slot).collect();
            assert!(of.iter().all(|due| due.layer == layer), "{slot}");
            assert!((of.len() as f64 - count).abs() <= 1.0, "{slot}: {}", of.len());
        }
        assert!(packets.iter().all(|due| due.slot < 4 || (34..38).contains(&due.slot)));
    }

    #[test]
    fn the_base_channel_falls_in_every_slot_and_its_first_packet_has_a_multiple_of_l() {
        assert_eq!(SHAPE.base_packets(), 9);
        let packets = sent(0, 3);
        let slots: Vec<u32> = packets.iter().map(|due| due.slot).collect();
        assert_eq!(slots, [vec![0; 9], vec![1; 9], vec![2; 9]].concat());
        assert!((packets[9].at - 10.0).abs() < 1e-9 && packets[9].sequence.is_multiple_of(9));
        // The first after a second or so, the last, at 0.77 packets a second, after more.
        let [first, last] = [packets[1].at, packets[8].at - packets[7].at];
        assert!(first > 1.0 && first < 1.02 && last > 1.25 && last < 1.35, "{first} {last}");
    }

    #[test]
    fn active_waves_add_up_to_a_sum_that_falls_by_a_quarter_within_a_slot() {
        // 1 + 4/3 + (4/3)^2 + (4/3)^3 + (4/3)^4.
        assert!((SHAPE.sum(4) - 9.641_975).abs() < 1e-5, "{}", SHAPE.sum(4));
        assert!((SHAPE.sum(0) - 1.0).abs() < 1e-9);
        let packets: usize =
            (0..=34).map(|n| sent(n, 8).iter().filter(|due| due.slot == 7).count()).sum();
        let expected = 9.641_975 * 10.0 * 0.25 / -libm::log(0.75);
        assert!((packets as f64 - expected).abs() < 5.0, "{packets} {expected}");
    }

    #[test]
    fn the_last_packet_of_every_wave_has_the_last_number() {
        let packets = sent(2, 80);
        let last = packets.iter().filter(|due| due.sequence == u32::MAX).count();
        let slots: Vec<u32> =
            packets.iter().filter(|due| due.sequence == u32::MAX).map(|due| due.slot).collect();
        assert_eq!((last, slots), (3, vec![1, 35, 69]));
        assert!(packets.windows(2).all(|two| {
            two[0].at < two[1].at
                && (two[0].sequence == u32::MAX || two[1].sequence == two[0].sequence + 1)
        }));
    }
}
