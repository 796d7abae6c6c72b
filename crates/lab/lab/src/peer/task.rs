//! One file to everybody, and how much a network carries of it.

use std::{net::Ipv4Addr, path::PathBuf, time::Duration};

/// IPv4 and UDP before each datagram.
pub(crate) const HEADERS: u64 = 28;

/// Bytes of content in a full packet, for all that can be told: what the paper of Tables 1 and 2
/// gave each system.
pub(crate) const SEGMENT: u64 = 1400;

/// Shorter round trips are the programs' scheduling.
pub(super) const ROUND_TRIP_MIN: Duration = Duration::from_millis(10);

/// One file to everybody.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    /// The file.
    pub(crate) source: PathBuf,
    pub(crate) receivers: Vec<Ipv4Addr>,
    /// What each link carries, bit/s of IP packets.
    pub(crate) capacity: u64,
    /// There and back, without queues.
    pub(crate) round_trip: Duration,
    /// After so long the trial is given up.
    pub(crate) limit: Duration,
    /// Parity sent with every block unasked, by systems that have erasure codes.
    pub(crate) parity: Option<Parity>,
}

/// Source symbols of a block, and parity symbols sent with each, unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parity {
    /// Source symbols.
    pub block: u16,
    /// Parity symbols.
    pub parity: u16,
}

impl Task {
    /// The rate at which a full packet takes the whole link, for a system whose limiter counts
    /// `counted` of its bytes and not the `uncounted`.
    pub(crate) fn rate_of(&self, counted: u64, uncounted: u64) -> u64 {
        self.capacity * counted / (counted + uncounted)
    }

    /// The round-trip time that a system which wants to be told one is told: two packets on the
    /// line, and what the network adds.
    pub(crate) fn expected_round_trip(&self) -> Duration {
        (self.round_trip + self.time_of(2)).max(ROUND_TRIP_MIN)
    }
    /// How long `count` full packets take on the link.
    pub(crate) fn time_of(&self, count: u64) -> Duration {
        let bits = count * (SEGMENT + 100) * 8;
        Duration::from_secs_f64(bits as f64 / self.capacity as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_leaves_room_for_the_headers_that_a_limiter_does_not_count() {
        let task = Task {
            source: PathBuf::new(),
            receivers: vec![Ipv4Addr::LOCALHOST],
            capacity: 1_460_000,
            round_trip: Duration::ZERO,
            limit: Duration::ZERO,
            parity: None,
        };
        assert_eq!(task.rate_of(1432, 28), 1_432_000);
        assert_eq!(task.rate_of(1460, 0), task.capacity);
        assert!(task.expected_round_trip() < Duration::from_millis(200));
    }
}
