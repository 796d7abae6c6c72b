//! Queue disciplines: which packets wait, which are marked, which are dropped. Each has a file.

mod drop_tail;
mod fair;
mod red;

pub use red::{AboveMax, Red};

use crate::packet::Packet;
use drop_tail::DropTail;
use fair::Fair;
pub(crate) use fair::QUANTUM;
use fanfare_proto::{Bitrate, Duration, Time, rng::Rng};
use red::RedQueue;

/// A queue, as a plan describes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Queue {
    /// First in, first out; what finds no room is dropped.
    DropTail(Limit),
    /// Random early detection (Floyd and Jacobson 1993), marking what is ECN-capable.
    Red(Red),
    /// A queue for each flow, served in turns by bytes (deficit round robin, Shreedhar and Varghese
    /// 1995); when full, the longest of them loses its last packet.
    Fair {
        /// Of all together.
        limit: Limit,
        /// Bytes of a turn. With those of one packet, flows alternate packet by packet.
        quantum: u32,
    },
}

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

impl Queue {
    /// First in, first out, so many packets.
    #[must_use]
    pub const fn packets(packets: u32) -> Self {
        Self::DropTail(Limit::Packets(packets))
    }
    /// First in, first out, so many bytes.
    #[must_use]
    pub const fn bytes(bytes: u64) -> Self {
        Self::DropTail(Limit::Bytes(bytes))
    }
    /// First in, first out, a multiple of the bandwidth-delay product.
    #[must_use]
    pub const fn bdp(times: f64, rtt: Duration) -> Self {
        Self::DropTail(Limit::Bdp { times, rtt })
    }
    /// A queue for each flow, of turns that send a packet of any size; so many packets together.
    #[must_use]
    pub const fn fair(packets: u32) -> Self {
        Self::Fair { limit: Limit::Packets(packets), quantum: QUANTUM }
    }

    /// An empty queue of this kind before a line of `rate`.
    pub(crate) fn build(self, rate: Bitrate) -> Box<dyn Discipline> {
        match self {
            Self::DropTail(limit) => Box::new(DropTail::new(limit.room(rate))),
            Self::Red(red) => Box::new(RedQueue::new(red, rate)),
            Self::Fair { limit, quantum } => Box::new(Fair::new(limit.room(rate), quantum)),
        }
    }
}

impl Limit {
    fn room(self, rate: Bitrate) -> Room {
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
    packets: usize,
    bytes: u64,
}

impl Room {
    /// Whether one packet of `bytes` more fits. The first always does: a line that can be used at
    /// all takes one packet.
    fn takes(self, packets: usize, held: u64, bytes: usize) -> bool {
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
    fn dropped(packet: Packet) -> Self {
        Self { dropped: Some(packet), marked: false }
    }
}

/// A queue at work.
pub(crate) trait Discipline: core::fmt::Debug {
    /// A packet comes.
    fn on_packet(&mut self, now: Time, packet: Packet, rng: &mut Rng) -> Verdict;
    /// The next packet for the line.
    fn poll_packet(&mut self, now: Time) -> Option<Packet>;
    /// Packets waiting.
    fn packets(&self) -> usize;
    /// Bytes waiting.
    fn bytes(&self) -> u64;
}

#[cfg(test)]
pub(crate) mod tests {
    use std::rc::Rc;

    use fanfare_proto::Ecn;

    use super::*;
    use crate::{
        packet::{FlowId, Payload, Target},
        topology::PlaceNumber,
    };

    pub(crate) fn packet(flow: u16, bytes: usize, ecn: Option<Ecn>) -> Packet {
        Packet {
            flow: FlowId::Background(flow),
            bytes,
            ecn,
            entered: Time::ZERO,
            source: PlaceNumber(0),
            before_air: PlaceNumber(0),
            target: Target::Place(PlaceNumber(1)),
            payload: Payload::Background(Rc::new(())),
        }
    }

    #[test]
    fn a_limit_in_round_trips_is_what_the_line_carries_meanwhile() {
        let limit = Limit::Bdp { times: 2.0, rtt: Duration::from_millis(100) };
        assert_eq!(limit.room(Bitrate::mbps(8)).bytes, 200_000);
    }
}
