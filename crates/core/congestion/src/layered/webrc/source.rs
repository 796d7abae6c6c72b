//! The waves of a session by its clock: which packet goes next.

use alloc::vec::Vec;

use fanfare_wire::units::{
    rng::Rng,
    time::{Duration, Time},
};

use super::{
    super::{Channel, Header, subscription::channel_number},
    waves::{Due, WaveShape, Waves},
};

/// A packet goes within this share of its period after it is due (as with all layers).
const SPREAD: f64 = 0.05;
/// The last packet of a wave is this far from its end at least, in periods: with the spread it
/// still goes in the slot.
const PHASE_MIN: f64 = 0.1;

/// What is due on each channel.
#[derive(Debug)]
pub(in super::super) struct WaveSource {
    waves: Waves,
    rng: Rng,
    started: Time,
    planned: Vec<(Time, Due)>,
}

impl WaveSource {
    pub(in super::super) fn new(shape: WaveShape, seed: u64, started: Time) -> Self {
        let mut rng = Rng::new(seed);
        let waves = Waves::new(shape, || PHASE_MIN + (1.0 - PHASE_MIN) * rng.unit());
        let mut source = Self { planned: Vec::new(), waves, rng, started };
        source.planned = (0..source.waves.channels()).map(|n| source.plan(n)).collect();
        source
    }
    fn plan(&mut self, channel: usize) -> (Time, Due) {
        let due = self.waves.due(channel);
        // The base channel tells of a new slot: not a moment late.
        let jitter = if channel == 0 { 0.0 } else { SPREAD * self.rng.unit() };
        let at = due.at + jitter * self.waves.period(&due);
        (self.started + Duration::from_secs_f64(at), due)
    }
    pub(in super::super) fn next_timeout(&self) -> Time {
        self.planned.iter().map(|(at, _)| *at).fold(Time::FAR_FUTURE, Time::min)
    }
    /// The next packet that goes now.
    pub(in super::super) fn poll(&mut self, now: Time) -> Option<Header> {
        let channel = self.planned.iter().enumerate().min_by_key(|(_, (at, _))| *at)?.0;
        let (at, due) = self.planned[channel];
        if at > now {
            return None;
        }
        self.waves.sent(channel);
        self.planned[channel] = self.plan(channel);
        let Due { layer, sequence, slot, .. } = due;
        let (channel, layer) = (channel_number(channel), layer as u8);
        let (first_of_pair, signal) = (false, 0);
        Some(Header { channel, layer, sequence, sent: now, first_of_pair, slot, signal })
    }
    /// The slot of a time.
    pub(in super::super) fn slot(&self, now: Time) -> u32 {
        let slot = super::super::timing::WAVE_SLOT.as_nanos();
        (now.since(self.started).as_nanos() / slot) as u32
    }
}

/// The channel that carries a session's base, whatever the slot.
pub(super) const BASE: Channel = Channel(1);
