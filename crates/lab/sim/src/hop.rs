//! One direction between two neighbours of a topology, as a plan describes it.

use crate::{
    link::Link,
    queue::{Limit, Queue},
};

/// Ethernet's: the largest IP packet of most networks.
pub(crate) const MTU: usize = 1500;

/// A [`Link`] that all routes over it share, the queue before it, and the largest packet it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// Rate, delay and faults. Its `queue_bytes` are not used: see `queue`.
    pub link: Link,
    /// Who waits and who is dropped when packets come faster than the rate.
    pub queue: Queue,
    /// Largest packet, IP header included; larger ones are dropped and counted. Default 1500.
    pub mtu: usize,
    /// Whether everything waits before the line, as while a terminal changes its satellite: nothing is
    /// lost but what the queue has no room for. Without a rate nothing waits. Default false.
    pub held: bool,
    /// Bytes that a shaper lets pass at once when the line was not used for long (a token bucket, as Linux's
    /// tbf). Default 0.
    pub bucket: u64,
}

impl From<Link> for Hop {
    /// With the link's own queue: drop-tail in bytes.
    fn from(link: Link) -> Self {
        let queue = Queue::DropTail(Limit::Bytes(link.queue_bytes));
        Self { link, queue, mtu: MTU, held: false, bucket: 0 }
    }
}

impl Hop {
    /// With this queue.
    #[must_use]
    pub fn queue(self, queue: Queue) -> Self {
        Self { queue, ..self }
    }
    /// With a token bucket of so many bytes.
    #[must_use]
    pub fn bucket(self, bucket: u64) -> Self {
        Self { bucket, ..self }
    }
    /// With this largest packet.
    #[must_use]
    pub fn mtu(self, mtu: usize) -> Self {
        Self { mtu, ..self }
    }
}
