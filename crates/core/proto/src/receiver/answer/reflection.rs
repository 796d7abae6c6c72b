//! How much is said to an address that may not be the sender's.
//!
//! Whoever puts another's address on its packets has receivers answer to that other host. So what
//! goes to an address alone is at most three times what came from it, until it has shown that it
//! hears us: only who heard our answer to a probe can name us in a later one. What the group hears
//! reaches nobody who has not joined, and is not counted.

use core::net::SocketAddr;

/// Bytes that go there for each that came (QUIC's rule: RFC 9000 8.1).
const FACTOR: u64 = 3;

/// What came from one address, and what went there.
#[derive(Debug, Default)]
pub(in crate::receiver) struct Reflection {
    source: Option<SocketAddr>,
    heard: u64,
    said: u64,
    /// It has named this node in a probe.
    answers: bool,
}

impl Reflection {
    /// So many bytes came from there.
    pub(in crate::receiver) fn on_heard(&mut self, source: SocketAddr, bytes: usize) {
        if self.source != Some(source) {
            *self = Self { source: Some(source), ..Self::default() };
        }
        self.heard += bytes as u64;
    }

    /// A probe from there names this node with its round trip: it has heard us.
    pub(in crate::receiver) fn on_named(&mut self) {
        self.answers = true;
    }

    /// Whether so many bytes may go to `to`. They count as said then.
    pub(in crate::receiver) fn allows(&mut self, to: SocketAddr, bytes: usize) -> bool {
        let (same, bytes) = (self.source == Some(to), bytes as u64);
        let room = same && self.said + bytes <= self.heard.saturating_mul(FACTOR);
        if same {
            self.said += if room || self.answers { bytes } else { 0 };
        }
        room || (same && self.answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, n], 6003))
    }

    #[test]
    fn an_address_that_has_not_shown_that_it_hears_us_gets_three_times_what_came_from_it() {
        let mut reflection = Reflection::default();
        let mut said = 0;
        for _ in 0..100 {
            reflection.on_heard(address(1), 40);
            said += (0..10).filter(|_| reflection.allows(address(1), 50)).count() * 50;
        }
        assert!((11_900..=12_000).contains(&said), "{said}");
    }

    #[test]
    fn who_names_us_in_a_probe_is_answered_in_full() {
        let mut reflection = Reflection::default();
        reflection.on_heard(address(1), 40);
        assert!(!reflection.allows(address(1), 1000));
        reflection.on_named();
        assert!(reflection.allows(address(1), 1000));
        assert!(!reflection.allows(address(2), 1), "another address has not");
    }

    #[test]
    fn a_sender_at_another_address_begins_anew() {
        let mut reflection = Reflection::default();
        reflection.on_heard(address(1), 4000);
        reflection.on_named();
        reflection.on_heard(address(66), 40);
        assert!(reflection.allows(address(66), 120));
        assert!(!reflection.allows(address(66), 1));
    }
}
