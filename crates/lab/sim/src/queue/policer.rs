//! A policer: it passes a rate and drops the rest, and delays nothing.

use fanfare_proto::{Bitrate, Time, rng::Rng};

use super::{Discipline, Room, Verdict, drop_tail::DropTail};
use crate::{packet::Packet, token_bucket::TokenBucket};

/// A policer before a line, which should be faster. What passes waits for the line alone.
#[derive(Debug)]
pub(crate) struct RatePolicer {
    rate: Bitrate,
    bucket: TokenBucket,
    passed: DropTail,
}

impl RatePolicer {
    pub(crate) fn new(rate: Bitrate, burst: u64) -> Self {
        let room = Room { packets: usize::MAX, bytes: u64::MAX };
        Self { rate, bucket: TokenBucket::new(burst), passed: DropTail::new(room) }
    }
}

impl Discipline for RatePolicer {
    fn on_packet(&mut self, now: Time, packet: Packet, rng: &mut Rng) -> Verdict {
        if self.bucket.fill(now, self.rate) < packet.bytes as f64 {
            return Verdict::dropped(packet);
        }
        self.bucket.take(packet.bytes, now);
        self.passed.on_packet(now, packet, rng)
    }
    fn poll_packet(&mut self, now: Time) -> Option<Packet> {
        self.passed.poll_packet(now)
    }
    fn packets(&self) -> usize {
        self.passed.packets()
    }
    fn bytes(&self) -> u64 {
        self.passed.bytes()
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Duration;

    use super::*;
    use crate::queue::tests::packet;

    #[test]
    fn it_passes_a_burst_and_then_its_rate() {
        let mut policer = RatePolicer::new(Bitrate::mbps(8), 3000);
        let passed = |policer: &mut RatePolicer, millis: u64| {
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
