//! A running background flow.

use core::ops::Deref;

use fanfare_proto::Time;

use super::{End, Flow, FlowReport, Incoming};
use crate::{
    packet::{FlowId, Packet, Payload, Target},
    place::PlaceNumber,
    results::series::Series,
};

/// Packets at one time: more is an end that never has enough.
const STORM_PACKETS: usize = 100_000;

/// Which end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Sink,
}

/// A flow of a run.
#[derive(Debug)]
pub(crate) struct Running {
    number: u16,
    places: [PlaceNumber; 2],
    /// None before its start.
    ends: Option<[Box<dyn End>; 2]>,
    stopped: bool,
    /// For each end, the earliest wake that is on the agenda.
    planned: [Option<Time>; 2],
    delivered: u64,
    pub(crate) report: FlowReport,
}

impl Running {
    pub(crate) fn new(number: u16, places: [PlaceNumber; 2], flow: &Flow) -> Self {
        let Flow { from, to, kind, .. } = *flow;
        let (received, name) = (Series::default(), flow.name.clone());
        let report = FlowReport { from, to, kind, sent: 0, received, name };
        Self {
            number,
            places,
            ends: None,
            stopped: false,
            planned: [None; 2],
            delivered: 0,
            report,
        }
    }
    pub(crate) fn start(&mut self, now: Time, flow: &Flow, seed: u64) {
        self.ends = Some(flow.ends(now, seed ^ u64::from(self.number + 1) << 36));
    }
    /// Its source says nothing more.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// One of its packets arrives; gives the end that it reached.
    pub(crate) fn on_packet(&mut self, now: Time, packet: &Packet) -> Option<Side> {
        let Payload::Background(content) = &packet.payload else { return None };
        let to = if packet.source == self.places[0] { Side::Sink } else { Side::Source };
        let (bytes, ecn) = (packet.bytes, packet.ecn);
        let end = &mut self.ends.as_mut()?[to as usize];
        end.on_packet(now, Incoming { bytes, ecn, content: content.deref() });
        let delivered = end.delivered();
        if to == Side::Sink {
            self.report.received.add(now, delivered - self.delivered);
            self.delivered = delivered;
        }
        Some(to)
    }

    pub(crate) fn on_wake(&mut self, now: Time, side: Side) {
        if self.planned[side as usize] == Some(now) {
            self.planned[side as usize] = None;
        }
    }

    /// What an end has to say now.
    pub(crate) fn drain(&mut self, now: Time, side: Side) -> Vec<Packet> {
        let mut out = Vec::new();
        let silent = self.stopped && side == Side::Source;
        let Some(ends) = self.ends.as_mut().filter(|_| !silent) else { return out };
        let (source, target) = match side {
            Side::Source => (self.places[0], self.places[1]),
            Side::Sink => (self.places[1], self.places[0]),
        };
        while let Some(packet) = ends[side as usize].poll_packet(now) {
            out.push(Packet {
                flow: FlowId::Background(self.number),
                bytes: packet.bytes,
                ecn: packet.ecn,
                entered: now,
                source,
                before_air: source,
                target: Target::Place(target),
                payload: Payload::Background(packet.content),
            });
            assert!(out.len() < STORM_PACKETS, "flow {} at {now}: sends without end", self.number);
        }
        if side == Side::Source {
            self.report.sent += out.len() as u64;
        }
        out
    }

    /// When an end is to be woken, unless an earlier wake is on the agenda already.
    pub(crate) fn plan_wake(&mut self, now: Time, side: Side) -> Option<Time> {
        let silent = self.stopped && side == Side::Source;
        let ends = self.ends.as_ref().filter(|_| !silent)?;
        let at = ends[side as usize].next_timeout()?.max(now);
        let planned = &mut self.planned[side as usize];
        let earlier = planned.is_none_or(|planned| at < planned);
        earlier.then(|| *planned = Some(at)).map(|()| at)
    }
}
