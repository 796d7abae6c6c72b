//! A run over a topology: packets of sessions and of background flows on shared hops.

use std::rc::Rc;

use fanfare_proto::{Destination, Duration, Ecn, Time};

use super::{ScheduledEvent, Simulation, fnv};
use crate::{
    fabric::{Fabric, Step},
    flow::{Running, Side},
    link::Traces,
    network::{Delivery, Host},
    packet::{FlowId, Packet, Payload, Target},
    place::{Place, PlaceNumber},
    plan::Plan,
};

impl Simulation {
    /// The shared network of a plan that has hops.
    pub(crate) fn fabric_of(plan: &Plan, traces: &Rc<Traces>) -> Option<Fabric> {
        let mut edges = plan.hops.clone();
        for (medium, number) in plan.media.iter().zip(0..) {
            edges.extend(medium.edges(number));
        }
        if edges.is_empty() {
            return None;
        }
        let groups: Vec<u8> = plan.hosts.iter().map(|host| host.group).collect();
        let chance = (plan.seed, Time::ZERO + plan.warm_up);
        let mut fabric = Fabric::new(&groups, &edges, plan.membership, chance, traces);
        for (medium, number) in plan.media.iter().zip(0..) {
            fabric.share_air(number, medium);
            fabric.follow(number, medium, (plan.seed, plan.limit));
        }
        Some(fabric)
    }

    /// Enters the beginnings and ends of background flows.
    pub(super) fn plan_flows(&mut self) {
        let Some(fabric) = &self.fabric else { return };
        for (flow, number) in self.plan.flows.iter().zip(0..) {
            let place = |place: Place| {
                fabric.find(place).unwrap_or_else(|| panic!("flow {number}: no hop names {place}"))
            };
            let places = [place(flow.from), place(flow.to)];
            assert!(places[0] != places[1], "flow {number}: begins where it ends");
            self.flows.push(Running::new(number, places, flow));
            self.events.push(Time::ZERO + flow.during.start, ScheduledEvent::FlowStart(number));
            if flow.during.end < Duration::MAX {
                self.events.push(Time::ZERO + flow.during.end, ScheduledEvent::FlowStop(number));
            }
        }
    }

    /// A session's datagram enters the shared network.
    pub(super) fn send_shared(
        &mut self,
        from: Host,
        to: Destination,
        ecn: Option<Ecn>,
        bytes: &[u8],
        hash: u64,
    ) {
        let Some(fabric) = &mut self.fabric else { return };
        let target = match to {
            Destination::Group => Target::Group(fabric.group(from)),
            Destination::Peer(address) => {
                let peer = Host::at(address).and_then(|host| fabric.find(host.into()));
                let Some(peer) = peer else { return };
                Target::Place(peer)
            }
        };
        let source = (from, PlaceNumber(from.0));
        fabric.send(self.now, Packet::datagram(source, target, ecn, bytes.into(), hash));
        self.enter_steps();
    }

    pub(super) fn enter_steps(&mut self) {
        let Some(fabric) = &mut self.fabric else { return };
        for (at, step) in fabric.steps.drain(..) {
            self.events.push(at, ScheduledEvent::Step(step));
        }
    }

    pub(super) fn on_step(&mut self, step: Step) {
        let Some(fabric) = &mut self.fabric else { return };
        let arrived = fabric.on_step(self.now, step);
        self.enter_steps();
        let Some((place, packet)) = arrived else { return };
        match packet.flow {
            FlowId::Background(number) => {
                let words = [self.now.as_nanos(), u64::from(place.0), packet.bytes as u64];
                self.hash = fnv(self.hash, words);
                if let Some(side) = self.flows[usize::from(number)].on_packet(self.now, &packet) {
                    self.settle_flow(number, side);
                }
            }
            FlowId::Layered(number) => self.arrive_layered(number, place, &packet),
            FlowId::Host(from) => self.arrive(place, from, packet),
        }
    }

    fn arrive(&mut self, place: PlaceNumber, from: Host, packet: Packet) {
        let Payload::Datagram(bytes, hash) = packet.payload else { return };
        let to = Host(place.0);
        if self.fabric.as_ref().is_none_or(|fabric| fabric.place(place) != Place::Host(to)) {
            return;
        }
        self.network.counts.arrived += 1;
        let unicast = matches!(packet.target, Target::Place(_));
        let (source, ecn) = (from.address(), packet.ecn);
        let delivery = Delivery { at: self.now, source, unicast, ecn, to: vec![to], bytes, hash };
        self.deliver(to, &delivery);
    }

    pub(super) fn start_flow(&mut self, number: u16) {
        let flow = &self.plan.flows[usize::from(number)];
        self.flows[usize::from(number)].start(self.now, flow, self.plan.seed);
        self.settle_flow(number, Side::Source);
    }

    pub(super) fn wake_flow(&mut self, number: u16, side: Side) {
        self.flows[usize::from(number)].on_wake(self.now, side);
        self.settle_flow(number, side);
    }

    fn settle_flow(&mut self, number: u16, side: Side) {
        let flow = &mut self.flows[usize::from(number)];
        let packets = flow.drain(self.now, side);
        if let Some(at) = flow.plan_wake(self.now, side) {
            self.events.push(at, ScheduledEvent::FlowWake(number, side));
        }
        if let Some(fabric) = &mut self.fabric {
            packets.into_iter().for_each(|packet| fabric.send(self.now, packet));
        }
        self.enter_steps();
    }
}
