//! First in, first out. Packets that find no room are dropped.

use std::collections::VecDeque;

use fanfare_proto::{Time, rng::Rng};

use super::{Discipline, Room, Verdict};
use crate::packet::Packet;

/// A drop-tail queue.
#[derive(Debug)]
pub(crate) struct DropTail {
    room: Room,
    waiting: VecDeque<Packet>,
    bytes: u64,
}

impl DropTail {
    pub(crate) fn new(room: Room) -> Self {
        Self { room, waiting: VecDeque::new(), bytes: 0 }
    }
}

impl Discipline for DropTail {
    fn on_packet(&mut self, _now: Time, packet: Packet, _rng: &mut Rng) -> Verdict {
        if !self.room.takes(self.waiting.len(), self.bytes, packet.bytes) {
            return Verdict::dropped(packet);
        }
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
    use fanfare_proto::Bitrate;

    use super::*;
    use crate::queue::{Limit, tests::packet};

    fn taken(limit: Limit, sizes: &[usize]) -> usize {
        let mut queue = DropTail::new(limit.room(Bitrate::mbps(1)));
        let rng = &mut Rng::new(1);
        let taken = |size: &&usize| {
            queue.on_packet(Time::ZERO, packet(0, **size, None), rng).dropped.is_none()
        };
        sizes.iter().filter(taken).count()
    }

    #[test]
    fn a_limit_in_packets_does_not_look_at_their_size() {
        assert_eq!(taken(Limit::Packets(3), &[10, 1500, 10, 10]), 3);
    }

    #[test]
    fn a_limit_in_bytes_lets_a_small_packet_in_where_a_large_one_finds_no_room() {
        assert_eq!(taken(Limit::Bytes(2_000), &[1500, 1500, 400]), 2);
    }
}
