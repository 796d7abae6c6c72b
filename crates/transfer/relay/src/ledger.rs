//! Repairs on their way to members, at no more than a rate.

use std::{collections::VecDeque, time::Duration};

use crate::{cache::Key, side::Side};

/// Repairs that wait: more are asked for again by those who lack them.
const QUEUE_MAX: usize = 65_536;
/// The least that repairs get, and how much at once, bit/s and bytes.
const RATE_LEAST: u64 = 1_000_000;
const BURST: f64 = 64_000.0;
/// A rate that was seen counts for so long: a sender that has sent all of a file is quiet, while a relay
/// that has taken another's place may have much of it to repair.
const PEAK: Duration = Duration::from_secs(60);

/// Something to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Repair {
    pub(crate) side: Side,
    pub(crate) key: Key,
    pub(crate) block: u32,
    pub(crate) symbol: u16,
}

/// Repairs, and how fast they may go: as fast as their senders send lately, and never above the limit.
#[derive(Debug)]
pub(crate) struct Ledger {
    queue: VecDeque<Repair>,
    limit: u64,
    tokens: f64,
    filled: Duration,
    /// Bytes that came in this second; the most in a second of late, and when.
    heard: (u64, u64),
    peak: (u64, Duration),
}

impl Ledger {
    pub(crate) fn new(limit: u64) -> Self {
        let (queue, filled) = (VecDeque::new(), Duration::ZERO);
        Self { queue, limit, tokens: BURST, filled, heard: (0, 0), peak: (0, filled) }
    }

    /// So much came from senders.
    pub(crate) fn on_heard(&mut self, now: Duration, bytes: usize) {
        if self.heard.0 != now.as_secs() {
            self.heard = (now.as_secs(), 0);
        }
        self.heard.1 += bytes as u64;
        if self.heard.1 > self.peak.0 || now > self.peak.1 + PEAK {
            self.peak = (self.heard.1, now);
        }
    }

    pub(crate) fn push(&mut self, repair: Repair) {
        if self.queue.len() < QUEUE_MAX {
            self.queue.push_back(repair);
        }
    }

    fn rate(&self) -> f64 {
        (8 * self.peak.0).clamp(RATE_LEAST.min(self.limit), self.limit) as f64
    }

    /// The next repair that may go now.
    pub(crate) fn pop(&mut self, now: Duration) -> Option<Repair> {
        let passed = now.saturating_sub(self.filled).as_secs_f64();
        self.filled = now;
        self.tokens = (self.tokens + passed * self.rate() / 8.0).min(BURST);
        if self.tokens <= 0.0 {
            return None;
        }
        self.queue.pop_front()
    }

    /// A repair of so many bytes went.
    pub(crate) fn on_sent(&mut self, bytes: usize) {
        self.tokens -= bytes as f64;
    }

    /// When the next may go.
    pub(crate) fn next_timeout(&self, now: Duration) -> Option<Duration> {
        let lacking = (-self.tokens).max(0.0) * 8.0 / self.rate();
        (!self.queue.is_empty()).then(|| now + Duration::from_secs_f64(lacking))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_go_as_fast_as_senders_send_and_never_above_the_limit() {
        let mut ledger = Ledger::new(8_000_000);
        let repair = Repair { side: Side::Group(0), key: (1, 1, 1), block: 0, symbol: 0 };
        (0..10_000).for_each(|_| ledger.push(repair));
        let sent = |ledger: &mut Ledger, from: u64| {
            let mut bytes = 0;
            for ms in from..from + 1000 {
                while ledger.pop(Duration::from_millis(ms)).is_some() {
                    ledger.on_sent(1000);
                    bytes += 1000;
                }
            }
            bytes
        };
        let slow = sent(&mut ledger, 0);
        assert!((125_000..200_000).contains(&slow), "{slow}");
        ledger.on_heard(Duration::from_millis(1000), 500_000);
        let followed = sent(&mut ledger, 1000);
        assert!((480_000..570_000).contains(&followed), "{followed}");
        ledger.on_heard(Duration::from_millis(2000), 5_000_000);
        let limited = sent(&mut ledger, 2000);
        assert!((900_000..1_070_000).contains(&limited), "{limited}");
    }
}
