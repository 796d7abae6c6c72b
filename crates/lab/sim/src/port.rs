//! The sending end of a hop: its queue, its line, and what happened to the packets it sent.

use std::{collections::BTreeMap, rc::Rc};

use fanfare_proto::{Bitrate, Time, rng::Rng};

use super::place::{Place, PlaceNumber};
use crate::{
    hop::Hop,
    link::{HEADER_BYTES, LinkMemory, LinkOutcome, LinkRandomness, Loss, Traces},
    packet::{Packet, Payload},
    queue::{Discipline, Queue},
    results::hop_report::HopReport,
    token_bucket::TokenBucket,
};

/// One hop of a run.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) to: PlaceNumber,
    hop: Hop,
    queue: Box<dyn Discipline>,
    /// The packet on the line.
    sending: Option<Packet>,
    /// Bytes that the hop's shaper lets pass at once.
    bucket: TokenBucket,
    memory: LinkMemory,
    /// Of its own, so that one hop's losses do not depend on another's traffic.
    rng: Rng,
    warm: Time,
    traces: Rc<Traces>,
    /// Loss by the place that a packet was at before the air.
    losses: BTreeMap<PlaceNumber, (Loss, LinkMemory)>,
    pub(crate) report: HopReport,
}

/// A packet that reaches the far end of a hop.
#[derive(Debug)]
pub(crate) struct Departure {
    pub(crate) at: Time,
    pub(crate) packet: Packet,
}

impl Port {
    pub(crate) fn new(
        ends: (Place, Place),
        to: PlaceNumber,
        hop: Hop,
        seed: u64,
        warm: Time,
    ) -> Self {
        Self {
            to,
            hop,
            queue: built(hop.queue, hop.link.rate),
            sending: None,
            bucket: TokenBucket::new(hop.bucket),
            memory: LinkMemory::default(),
            rng: Rng::new(seed),
            warm,
            traces: Rc::default(),
            losses: BTreeMap::new(),
            report: HopReport::new(ends.0, ends.1, hop.link.rate),
        }
    }

    pub(crate) fn with_traces(self, traces: Rc<Traces>) -> Self {
        Self { traces, ..self }
    }
    /// Packets that come from `from` over the air get lost like this.
    pub(crate) fn lose_from(&mut self, from: PlaceNumber, loss: Loss) {
        self.losses.insert(from, (loss, LinkMemory::default()));
    }
    /// Rate, delay and faults change from the next packet on. What waits goes on waiting, unless
    /// another queue is put in its place: then it is lost.
    pub(crate) fn change(&mut self, hop: Hop) {
        if hop.bucket != self.hop.bucket {
            self.bucket = TokenBucket::new(hop.bucket);
        }
        if hop.queue != self.hop.queue || self.hop.link.rate.is_none() {
            self.report.dropped += self.queue.packets() as u64;
            self.queue = built(hop.queue, hop.link.rate);
        }
        self.hop = hop;
        self.report.rate = hop.link.rate;
    }
    pub(crate) fn is_sending(&self) -> bool {
        self.sending.is_some()
    }
    /// Packets in the queue and on the line.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.packets() + usize::from(self.is_sending())
    }
    /// A packet cannot pass: the far end is across a partition.
    pub(crate) fn on_cut(&mut self) {
        self.report.came += 1;
        self.report.down += 1;
    }

    /// A packet wants to pass. Without a rate it is on its way at once.
    pub(crate) fn on_packet(&mut self, now: Time, mut packet: Packet, out: &mut Vec<Departure>) {
        self.report.came += 1;
        if !self.hop.link.up {
            self.report.down += 1;
        } else if packet.bytes > self.hop.mtu {
            self.report.too_large += 1;
        } else {
            packet.entered = now;
            match self.hop.link.rate {
                Some(_) => self.enqueue(now, packet),
                None => {
                    self.report.on_line(now, &packet, self.warm);
                    self.propagate(now, packet, out);
                }
            }
        }
    }

    fn enqueue(&mut self, now: Time, packet: Packet) {
        let verdict = self.queue.on_packet(now, packet, &mut self.rng);
        if verdict.dropped.is_some() {
            self.report.on_drop(now);
        }
        if verdict.marked {
            self.report.on_mark(now);
        }
        self.report.on_queued(self.queue.packets(), self.queue.bytes());
    }

    /// Puts the next packet on the line, if one waits; gives when its last bit will have left.
    pub(crate) fn poll_line(&mut self, now: Time) -> Option<Time> {
        if self.hop.held {
            return None;
        }
        let packet = self.queue.poll_packet(now);
        for _ in 0..self.queue.poll_dropped() {
            self.report.on_drop(now);
        }
        let packet = packet?;
        self.report.on_line(now, &packet, self.warm);
        // A rate taken away while packets waited lets them out at once.
        let gone = self.hop.link.rate.map_or(now, |rate| self.gone_at(now, rate, packet.bytes));
        self.sending = Some(packet);
        Some(gone)
    }

    /// The time at which the last of `bytes` that reach the line now will have left.
    fn gone_at(&mut self, now: Time, rate: Bitrate, bytes: usize) -> Time {
        let lacking = (bytes as f64 - self.bucket.fill(now, rate)).max(0.0);
        let gone = now + rate.time_for(lacking as usize);
        self.bucket.take(bytes, gone);
        gone
    }

    /// The last bit of the packet on the line has left.
    pub(crate) fn on_sent(&mut self, now: Time, out: &mut Vec<Departure>) {
        if let Some(packet) = self.sending.take() {
            self.propagate(now, packet, out);
        }
    }

    fn propagate(&mut self, now: Time, packet: Packet, out: &mut Vec<Departure>) {
        let bytes = match &packet.payload {
            Payload::Datagram(bytes, _) => bytes.len(),
            Payload::Background(_) => packet.bytes.saturating_sub(HEADER_BYTES),
        };
        let chance = &mut LinkRandomness { rng: &mut self.rng, traces: &self.traces };
        let pair = self.losses.get_mut(&packet.before_air);
        if pair.is_some_and(|(loss, memory)| loss.takes(memory, packet.bytes, chance)) {
            self.report.lost += 1;
            return;
        }
        match self.hop.link.propagate(&mut self.memory, now, bytes, chance) {
            LinkOutcome::Arrives(first, second) => {
                self.report.duplicated += u64::from(second.is_some());
                for arrival in core::iter::once(first).chain(second) {
                    let mut packet = packet.clone();
                    if arrival.flip.is_none_or(|bit| packet.corrupt(bit)) {
                        self.report.arrived += 1;
                        out.push(Departure { at: arrival.at, packet });
                    } else {
                        self.report.lost += 1;
                    }
                }
            }
            LinkOutcome::Down => self.report.down += 1,
            LinkOutcome::Lost | LinkOutcome::QueueFull => self.report.lost += 1,
        }
    }
}

/// A queue before a line without a rate never holds anything: its size does not matter.
fn built(queue: Queue, rate: Option<Bitrate>) -> Box<dyn Discipline> {
    queue.build(rate.unwrap_or(Bitrate::bps(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Duration;

    use super::*;
    use crate::{link::Link, network::Host, place::Router, queue::tests::packet};

    fn port(hop: Hop) -> Port {
        let ends = (Place::Host(Host(0)), Place::Router(Router(0)));
        Port::new(ends, PlaceNumber(1), hop, 1, Time::ZERO)
    }
    fn megabit() -> Hop {
        Hop::from(Link::wire().rate(Bitrate::mbps(1), 0)).queue(Queue::packets(2))
    }

    #[test]
    fn packets_leave_one_after_the_other_at_the_rate() {
        let (mut port, mut out) = (port(megabit()), Vec::new());
        for _ in 0..4 {
            port.on_packet(Time::ZERO, packet(0, 1250, None), &mut out);
        }
        assert_eq!((port.report.dropped, port.report.most_packets), (2, 2));
        let mut now = Time::ZERO;
        while let Some(at) = port.poll_line(now) {
            now = at;
            port.on_sent(now, &mut out);
        }
        let ms: Vec<u64> = out.iter().map(|p| p.at.as_nanos() / 1_000_000).collect();
        assert_eq!(ms, [10, 20]);
        assert_eq!(port.report.delay.percentile(1.0).as_millis(), 9);
    }

    #[test]
    fn a_packet_above_the_mtu_and_one_for_a_hop_that_is_down_are_counted() {
        let (mut port, mut out) = (port(megabit()), Vec::new());
        port.on_packet(Time::ZERO, packet(0, 1501, None), &mut out);
        port.change(Hop { link: Link::down(), ..megabit() });
        port.on_packet(Time::ZERO, packet(0, 100, None), &mut out);
        assert_eq!((port.report.too_large, port.report.down, out.len()), (1, 1, 0));
    }

    #[test]
    fn another_rate_keeps_what_waits() {
        let (mut port, mut out) = (port(megabit()), Vec::new());
        port.on_packet(Time::ZERO, packet(0, 1250, None), &mut out);
        port.change(Hop { link: Link::wire().rate(Bitrate::kbps(500), 0), ..megabit() });
        assert_eq!(port.poll_line(Time::ZERO), Some(Time::ZERO + Duration::from_millis(20)));
    }

    #[test]
    fn a_bucket_lets_the_first_bytes_pass_at_once_and_fills_again_at_the_rate() {
        let mut port = port(megabit().queue(Queue::packets(100)).bucket(2500));
        let mut gone = |millis: u64, packets: usize| {
            let mut now = Time::ZERO + Duration::from_millis(millis);
            (0..packets).for_each(|_| port.on_packet(now, packet(0, 1250, None), &mut Vec::new()));
            while let Some(at) = port.poll_line(now) {
                port.on_sent(at, &mut Vec::new());
                now = at;
            }
            now.as_nanos() / 1_000_000
        };
        assert_eq!([gone(0, 2), gone(0, 2), gone(30, 2), gone(1000, 3)], [0, 20, 40, 1010]);
    }

    #[test]
    fn what_is_held_waits_and_is_not_lost() {
        let (mut port, mut out) = (port(megabit()), Vec::new());
        port.change(Hop { held: true, ..megabit() });
        port.on_packet(Time::ZERO, packet(0, 1250, None), &mut out);
        assert_eq!(port.poll_line(Time::ZERO), None);
        port.change(megabit());
        let later = Time::ZERO + Duration::from_millis(100);
        assert_eq!(port.poll_line(later), Some(later + Duration::from_millis(10)));
    }
}
