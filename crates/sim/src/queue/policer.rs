//! A policer: it passes a rate and drops the rest, and delays nothing.

use std::collections::VecDeque;

use fanfare_proto::{Bitrate, Time, rng::Rng};

use super::{Discipline, Verdict};
use crate::packet::Packet;

/// A policer before a line, which should be faster.
#[derive(Debug)]
pub(crate) struct Policer {
    rate: Bitrate,
    burst: f64,
    /// Bytes that may pass now, as of `reckoned`.
    tokens: f64,
    reckoned: Time,
    waiting: VecDeque<Packet>,
    bytes: u64,
}

impl Policer {
    pub(crate) fn new(rate: Bitrate, burst: u64) -> Self {
        let burst = burst as f64;
        let reckoned = Time::ZERO;
        Self { rate, burst, tokens: burst, reckoned, waiting: VecDeque::new(), bytes: 0 }
    }
}

impl Discipline for Policer {
    fn on_packet(&mut self, now: Time, packet: Packet, _rng: &mut Rng) -> Verdict {
        let gained = self.rate.as_bytes_per_second() * now.since(self.reckoned).as_secs_f64();
        self.tokens = (self.tokens + gained).min(self.burst);
        self.reckoned = now;
        if self.tokens < packet.bytes as f64 {
            return Verdict::dropped(packet);
        }
        self.tokens -= packet.bytes as f64;
        self.bytes += packet.bytes as u64;
        self.waiting.push_back(packet);
        Verdict::default()
    }
    fn poll_packet(&mut self, _now: Time) -> Option<Packet> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= packet.bytes as u64;
        Some(packet)
    }
    fn packets(&self) -> usize {
        self.waiting.len()
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Duration;

    use super::*;
    use crate::queue::tests::packet;

    #[test]
    fn it_passes_a_burst_and_then_its_rate() {
        let mut policer = Policer::new(Bitrate::mbps(8), 3000);
        let passed = |policer: &mut Policer, millis: u64| {
            let now = Time::ZERO + Duration::from_millis(millis);
            (0..10)
                .filter(|_| {
                    let verdict = policer.on_packet(now, packet(0, 1000, None), &mut Rng::new(1));
                    verdict.dropped.is_none()
                })
                .count()
        };
        assert_eq!([0, 0, 1, 3, 100].map(|millis| passed(&mut policer, millis)), [3, 0, 1, 2, 3]);
    }
}
