//! A queue for each flow, served in turns by bytes: deficit round robin.
//!
//! Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1995.

use std::collections::{BTreeMap, VecDeque};

use fanfare_proto::{Time, rng::Rng};

use super::{Discipline, Room, Verdict};
use crate::packet::{FlowId, Packet};

/// Bytes a flow may send in each of its turns when nothing is said: the largest packet of most
/// networks, so that every turn sends one.
pub(crate) const QUANTUM: u32 = 1500;

/// Deficit round robin at work.
#[derive(Debug)]
pub(crate) struct Fair {
    room: Room,
    quantum: usize,
    flows: BTreeMap<FlowId, Waiting>,
    /// Flows with packets, in the order of their turns.
    turns: VecDeque<FlowId>,
    packets: usize,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Waiting {
    packets: VecDeque<Packet>,
    bytes: u64,
    deficit: usize,
}

impl Fair {
    pub(crate) fn new(room: Room, quantum: u32) -> Self {
        let (flows, turns) = (BTreeMap::new(), VecDeque::new());
        // A quantum of nothing would never let anybody send.
        Self { room, quantum: quantum.max(1) as usize, flows, turns, packets: 0, bytes: 0 }
    }

    /// The last packet of the flow that holds most.
    fn drop_longest(&mut self) -> Option<Packet> {
        let (flow, waiting) = self.flows.iter_mut().max_by_key(|(_, waiting)| waiting.bytes)?;
        let packet = waiting.packets.pop_back()?;
        waiting.bytes -= packet.bytes as u64;
        if waiting.packets.is_empty() {
            let flow = *flow;
            self.flows.remove(&flow);
            self.turns.retain(|turn| *turn != flow);
        }
        self.packets -= 1;
        self.bytes -= packet.bytes as u64;
        Some(packet)
    }
}

impl Discipline for Fair {
    fn on_packet(&mut self, _now: Time, packet: Packet, _rng: &mut Rng) -> Verdict {
        let full = !self.room.takes(self.packets, self.bytes, packet.bytes);
        self.packets += 1;
        self.bytes += packet.bytes as u64;
        let waiting = self.flows.entry(packet.flow).or_default();
        if waiting.packets.is_empty() {
            self.turns.push_back(packet.flow);
        }
        waiting.bytes += packet.bytes as u64;
        waiting.packets.push_back(packet);
        let dropped = if full { self.drop_longest() } else { None };
        Verdict { dropped, marked: false }
    }

    fn poll_packet(&mut self, _now: Time) -> Option<Packet> {
        loop {
            let flow = *self.turns.front()?;
            let waiting = self.flows.get_mut(&flow)?;
            let bytes = waiting.packets.front()?.bytes;
            if waiting.deficit < bytes {
                waiting.deficit += self.quantum;
                self.turns.rotate_left(1);
                continue;
            }
            let packet = waiting.packets.pop_front()?;
            waiting.deficit -= bytes;
            waiting.bytes -= bytes as u64;
            self.packets -= 1;
            self.bytes -= bytes as u64;
            if waiting.packets.is_empty() {
                self.flows.remove(&flow);
                self.turns.pop_front();
            }
            return Some(packet);
        }
    }
    fn packets(&self) -> usize {
        self.packets
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

    fn queue(limit: Limit) -> Fair {
        Fair::new(limit.room(Bitrate::mbps(1)), QUANTUM)
    }
    fn number(packet: &Packet) -> u16 {
        let FlowId::Background(flow) = packet.flow else { panic!() };
        flow
    }

    #[test]
    fn flows_get_equal_bytes_whatever_their_packets_and_their_number() {
        let (mut queue, rng) = (queue(Limit::Packets(1_000)), &mut Rng::new(1));
        for _ in 0..300 {
            queue.on_packet(Time::ZERO, packet(1, 1500, None), rng);
            queue.on_packet(Time::ZERO, packet(2, 500, None), rng);
        }
        let mut bytes = [0; 3];
        for _ in 0..200 {
            let packet = queue.poll_packet(Time::ZERO).unwrap();
            bytes[usize::from(number(&packet))] += packet.bytes;
        }
        assert!(bytes[1].abs_diff(bytes[2]) <= 2 * QUANTUM as usize, "{bytes:?}");
    }

    #[test]
    fn with_a_turn_of_one_packet_flows_alternate_packet_by_packet() {
        let runs = |quantum| {
            let mut queue = Fair::new(Limit::Packets(100).room(Bitrate::mbps(1)), quantum);
            for n in 0..24 {
                queue.on_packet(Time::ZERO, packet(n % 2, 512, None), &mut Rng::new(1));
            }
            let sent = core::iter::from_fn(|| queue.poll_packet(Time::ZERO).map(|p| number(&p)));
            sent.collect::<Vec<u16>>().chunk_by(|a, b| a == b).map(<[u16]>::len).max()
        };
        assert_eq!([runs(512), runs(1500)], [Some(1), Some(3)]);
    }

    #[test]
    fn the_flow_that_holds_most_loses_when_room_runs_out() {
        let (mut queue, rng) = (queue(Limit::Packets(10)), &mut Rng::new(1));
        for _ in 0..10 {
            assert!(queue.on_packet(Time::ZERO, packet(1, 1500, None), rng).dropped.is_none());
        }
        let verdict = queue.on_packet(Time::ZERO, packet(2, 1500, None), rng);
        assert_eq!(verdict.dropped.map(|p| p.flow), Some(FlowId::Background(1)));
        assert_eq!((queue.packets(), queue.bytes()), (10, 15_000));
    }

    #[test]
    fn everything_that_was_taken_comes_out_in_its_flow_s_order() {
        let (mut queue, rng) = (queue(Limit::Bytes(1 << 20)), &mut Rng::new(1));
        for n in 0..60 {
            queue.on_packet(Time::ZERO, packet(n % 3, 100 + usize::from(n), None), rng);
        }
        let out: Vec<Packet> = core::iter::from_fn(|| queue.poll_packet(Time::ZERO)).collect();
        assert_eq!((out.len(), queue.packets(), queue.bytes()), (60, 0, 0));
        for flow in 0..3 {
            let mine = out.iter().filter(|p| p.flow == FlowId::Background(flow));
            assert!(mine.map(|p| p.bytes).is_sorted());
        }
    }
}
