//! Queue disciplines: which packets wait, which are marked, which are dropped. Each has a file;
//! `discipline` is what they have in common.

mod codel;
mod discipline;
mod drop_tail;
mod fair;
mod policer;
mod red;

pub(crate) use codel::{INTERVAL, TARGET};
pub use discipline::Limit;
pub(crate) use discipline::{Discipline, Room, Verdict};
pub use red::{AboveMax, Red};

use codel::CoDelQueue;
use drop_tail::DropTail;
use fair::Fair;
pub(crate) use fair::QUANTUM;
use fanfare_proto::{Bitrate, Duration};
use policer::RatePolicer;
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
    /// First in, first out; while packets wait too long for too long, some at the head are dropped (CoDel,
    /// RFC 8289).
    CoDel {
        /// Of all.
        limit: Limit,
        /// Waiting time that is not too long.
        target: Duration,
        /// Time for which packets may wait longer.
        interval: Duration,
    },
    /// None waits for it: what comes faster than `rate` is dropped, but for a burst.
    Policer {
        /// Rate that it passes. The line should be faster.
        rate: Bitrate,
        /// Bytes that it passes at once, after a pause.
        burst: u64,
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
            Self::CoDel { limit, target, interval } => {
                Box::new(CoDelQueue::new(limit.room(rate), target, interval))
            }
            Self::Policer { rate, burst } => Box::new(RatePolicer::new(rate, burst)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::rc::Rc;

    use fanfare_proto::{Ecn, Time};

    use super::*;
    use crate::{
        packet::{FlowId, Packet, Payload, Target},
        place::PlaceNumber,
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
