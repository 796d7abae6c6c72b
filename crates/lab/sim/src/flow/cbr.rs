//! Constant bit rate: packets of one size at equal intervals, without feedback.

use std::rc::Rc;

use fanfare_proto::{Bitrate, Time};

use super::{End, Incoming, Outgoing};

/// The sending end.
#[derive(Debug, Clone)]
pub struct Cbr {
    rate: Bitrate,
    bytes: usize,
    next: Time,
}

impl Cbr {
    /// Packets of `bytes` at `rate`, headers included, the first at `now`.
    #[must_use]
    pub fn new(rate: Bitrate, bytes: usize, now: Time) -> Self {
        Self { rate, bytes: bytes.max(1), next: now }
    }
    /// The next packet is due at `next`.
    pub(crate) fn resume(&mut self, next: Time) {
        self.next = next;
    }
}

impl End for Cbr {
    fn on_packet(&mut self, _now: Time, _packet: Incoming<'_>) {}
    fn poll_packet(&mut self, now: Time) -> Option<Outgoing> {
        if now < self.next {
            return None;
        }
        // From when it was due, so that rounding does not add up; never without time passing.
        let gap = self.rate.time_for(self.bytes).max(core::time::Duration::from_nanos(1));
        self.next = self.next + gap;
        Some(Outgoing { bytes: self.bytes, ecn: None, content: Rc::new(()) })
    }
    fn next_timeout(&self) -> Option<Time> {
        (self.next < Time::FAR_FUTURE).then_some(self.next)
    }
    fn delivered(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Duration;

    use super::*;

    #[test]
    fn its_rate_is_exact_to_a_packet() {
        let mut cbr = Cbr::new(Bitrate::kbps(300), 1250, Time::ZERO);
        let (end, mut bytes) = (Time::ZERO + Duration::from_secs(100), 0);
        while let Some(at) = cbr.next_timeout().filter(|at| *at < end) {
            while let Some(packet) = cbr.poll_packet(at) {
                bytes += packet.bytes;
            }
        }
        assert!(bytes - 300_000 / 8 * 100 <= 1250, "{bytes}");
    }
}
