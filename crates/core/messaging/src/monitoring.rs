//! A monitor in the hands of a node: when it looks at what the node knows, and what it makes of it.

use crate::monitor::{Config, Facts, Monitor};
use alloc::boxed::Box;
use fanfare_proto::{Duration, NodeId, Time};

/// What the node knows of itself is looked at so often.
pub(crate) const LOOKS: Duration = Duration::from_secs(1);
/// Who hears whom changes more slowly, and is much in a large group.
pub(crate) const HEARING_EACH: Duration = Duration::from_secs(5);
/// Rates are over about so many looks: what is published every ten seconds is then a rate, and no news.
const RATES_OVER: f64 = 30.0;

/// A monitor, and what is needed to feed it.
#[derive(Debug)]
pub(crate) struct Monitoring {
    pub(crate) monitor: Monitor,
    pub(crate) looked: Time,
    /// Bytes sent and received, by the last look, without notes: a monitor that watches itself never rests.
    bytes: (u64, u64),
    /// Bits per second.
    rates: (f64, f64),
    /// Of the machine, as its driver says.
    pub(crate) host: Facts,
    /// Of notes heard, since the last look.
    pub(crate) heard_notes: u64,
    /// When it was told who hears whom.
    pub(crate) told_hearing: Option<Time>,
}

impl Monitoring {
    pub(crate) fn new(config: Config, own: NodeId, seed: u64, now: Time) -> Box<Self> {
        Box::new(Self {
            monitor: Monitor::new(config, own, "", seed, now),
            looked: now,
            bytes: (0, 0),
            rates: (0.0, 0.0),
            host: Facts::default(),
            heard_notes: 0,
            told_hearing: None,
        })
    }

    pub(crate) fn is_due(&self, now: Time) -> bool {
        now.since(self.looked) >= LOOKS
    }

    /// The rates by now.
    pub(crate) fn rates(&mut self, now: Time, bytes: (u64, u64)) -> (f64, f64) {
        let span = now.since(self.looked).as_secs_f64().max(1e-3);
        let mean = |old: f64, before: u64, after: u64| {
            let measured = after.saturating_sub(before) as f64 * 8.0 / span;
            old + (measured - old) / RATES_OVER
        };
        self.rates.0 = mean(self.rates.0, self.bytes.0, bytes.0);
        self.rates.1 = mean(self.rates.1, self.bytes.1, bytes.1);
        (self.looked, self.bytes) = (now, bytes);
        self.rates
    }
}
