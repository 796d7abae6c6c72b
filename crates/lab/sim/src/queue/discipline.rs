//! What all queues have in common: how much they hold, and what becomes of a packet.

use fanfare_proto::{Bitrate, Duration, Time, rng::Rng};

use crate::packet::Packet;

/// How much may wait. The packet on the wire does not wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes, headers included.
    Bytes(u64),
    /// So many times what the line carries in one round trip.
    Bdp {
        /// Factor.
        times: f64,
        /// The round trip, which a hop does not know.
        rtt: Duration,
    },
}

impl Limit {
    pub(super) fn room(self, rate: Bitrate) -> Room {
        match self {
            Self::Packets(packets) => Room { packets: packets as usize, bytes: u64::MAX },
            Self::Bytes(bytes) => Room { packets: usize::MAX, bytes },
            Self::Bdp { times, rtt } => {
                let bytes = (rate.bytes_in(rtt) as f64 * times) as u64;
                Room { packets: usize::MAX, bytes }
            }
        }
    }
}

/// A limit in numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(super) packets: usize,
    pub(super) bytes: u64,
}

impl Room {
    /// Whether one packet of `bytes` more fits. The first always does: a line that can be used at
    /// all takes one packet.
    pub(super) fn takes(self, packets: usize, held: u64, bytes: usize) -> bool {
        packets == 0 || packets < self.packets && held + bytes as u64 <= self.bytes
    }
}

/// What became of a packet that came to a queue.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// This one was dropped: the one that came, or another in its place.
    pub(crate) dropped: Option<Packet>,
    /// The one that came was marked.
    pub(crate) marked: bool,
}

impl Verdict {
    pub(super) fn dropped(packet: Packet) -> Self {
        Self { dropped: Some(packet), marked: false }
    }
}

/// A queue at work.
pub(crate) trait Discipline: core::fmt::Debug {
    /// A packet comes.
    fn on_packet(&mut self, now: Time, packet: Packet, rng: &mut Rng) -> Verdict;
    /// The next packet for the line.
    fn poll_packet(&mut self, now: Time) -> Option<Packet>;
    /// Number of packets that were dropped on their way to the line since it was asked last.
    fn poll_dropped(&mut self) -> u64 {
        0
    }
    /// Packets waiting.
    fn packets(&self) -> usize;
    /// Bytes waiting.
    fn bytes(&self) -> u64;
}
