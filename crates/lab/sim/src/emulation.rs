//! The network in real time: the same hops, queues, media and paths, with the clock and the packets
//! of a driver.
//!
//! The driver reports every packet that a host sends ([`Emulation::on_packet`]), asks when
//! something happens next, and takes the packets that have reached a host by then
//! ([`Emulation::poll`]). Changes and background flows of the plan happen at their times. Real
//! programs take the place of the plan's sessions and of what they send.
//!
//! Lateness affects only the delivery: every event counts with the time at which it was due. So a
//! busy machine adds to delays, but not to the rate of a line.
//!
//! - `hosts`: those for which a driver has real ones; `account`: what became of packets

mod account;
mod hosts;

pub use account::LinkAccount;
pub use hosts::EmulatedHost;

use super::place::{Place, PlaceNumber};
use crate::{
    event_queue::EventQueue,
    fabric::{ChannelId, Fabric, Step},
    flow::{Running, Side},
    link::HEADER_BYTES,
    network::{Host, Hosts, Network, PathCounts},
    packet::{FlowId, Packet, Payload, Target},
    plan::{Change, Plan},
    simulation::Simulation,
};
use fanfare_proto::{Destination, Duration, Ecn, Time};
use std::{collections::BTreeMap, net::Ipv4Addr, rc::Rc};

/// Where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    /// All others of the sender's group.
    Group,
    /// Those of them that are in this multicast group, where the plan prunes ([`Plan::pruned`]); else
    /// all.
    Members(Ipv4Addr),
    /// One host.
    Host(Host),
}

/// A packet that has reached a host.
#[derive(Debug, Clone)]
pub struct Due {
    /// When.
    pub at: Time,
    /// Who sent it.
    pub from: Host,
    /// Whom it has reached.
    pub to: Host,
    /// Its ECN mark now.
    pub ecn: Option<Ecn>,
    /// Its bytes, shared by all whom it reaches.
    pub bytes: Rc<[u8]>,
    /// The way has inverted a bit of it.
    pub corrupted: bool,
}

/// A plan's network at work.
#[derive(Debug)]
pub struct Emulation {
    plan: Plan,
    now: Time,
    events: EventQueue<ScheduledEvent>,
    /// Paths of each pair, and who is up.
    network: Network,
    /// In a plan with hops, in the place of the network's paths.
    fabric: Option<Fabric>,
    flows: Vec<Running>,
    up: Vec<bool>,
    /// Without hops: what became of the packets of each pair.
    paths: BTreeMap<(Host, Host), LinkAccount>,
    /// Numbers of the multicast groups that hosts have joined, in a plan that prunes.
    channels: BTreeMap<Ipv4Addr, u16>,
    unheard: u64,
}

/// What the agenda holds.
#[derive(Debug)]
enum ScheduledEvent {
    Due(Due),
    Step(Step),
    Change(usize),
    Start(Host),
    FlowStart(u16),
    FlowStop(u16),
    FlowWake(u16, Side),
}

impl Emulation {
    /// The network of a plan, at time zero.
    ///
    /// # Panics
    /// When a background flow of the plan begins or ends where no hop leads.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let traces = Rc::new(plan.traces.clone());
        let mut network = Network::new(plan.seed, plan.link);
        network.set_traces(Rc::clone(&traces));
        let mut events = EventQueue::new();
        for entry in &plan.hosts {
            let host = network.add(entry.group);
            events.push(Time::ZERO + entry.start, ScheduledEvent::Start(host));
        }
        plan.links.iter().for_each(|(from, to, link)| network.set_link(*from, *to, *link));
        for (number, (at, _)) in plan.changes.iter().enumerate() {
            events.push(Time::ZERO + *at, ScheduledEvent::Change(number));
        }
        let fabric = Simulation::fabric_of(&plan, &traces);
        let mut emulation = Self {
            up: vec![false; plan.hosts.len()],
            plan,
            now: Time::ZERO,
            events,
            network,
            fabric,
            flows: Vec::new(),
            paths: BTreeMap::new(),
            channels: BTreeMap::new(),
            unheard: 0,
        };
        emulation.enter_steps();
        emulation.plan_flows();
        emulation
    }

    /// A host sends an IP packet, whose length is what lines and queues count. Ask [`Self::poll`]
    /// for the same time first: what is due before comes before.
    ///
    /// False when the host is not up: the packet is gone.
    pub fn on_packet(
        &mut self,
        now: Time,
        from: Host,
        to: Recipient,
        ecn: Option<Ecn>,
        bytes: Rc<[u8]>,
    ) -> bool {
        self.now = self.now.max(now);
        if !self.up.get(usize::from(from.0)).copied().unwrap_or(false) {
            return false;
        }
        let to = match to {
            Recipient::Members(_) if !self.prunes() => Recipient::Group,
            to => to,
        };
        match to {
            Recipient::Host(host) if host == from => {}
            _ if self.fabric.is_some() => self.send_shared(from, to, ecn, bytes),
            Recipient::Host(host) => self.send_path(from, host, ecn, &bytes),
            // A plan without hops does not prune.
            Recipient::Group | Recipient::Members(_) => {
                let group = self.plan.hosts[usize::from(from.0)].group;
                for number in 0..self.plan.hosts.len() {
                    let host = Host(number as u16);
                    if host != from && self.plan.hosts[number].group == group {
                        self.send_path(from, host, ecn, &bytes);
                    }
                }
            }
        }
        true
    }

    /// Whether packets of multicast groups go to members alone.
    #[must_use]
    pub fn prunes(&self) -> bool {
        self.plan.pruned && self.fabric.is_some()
    }

    /// A host joins or leaves a multicast group; the network learns of it in the plan's time.
    pub fn on_membership(&mut self, now: Time, host: Host, group: Ipv4Addr, joined: bool) {
        let next = u16::try_from(self.channels.len()).unwrap_or(u16::MAX);
        let known = self.channels.contains_key(&group);
        let Some(fabric) = self.fabric.as_mut().filter(|_| self.plan.pruned) else { return };
        if !known && (!joined || next == u16::MAX) {
            return;
        }
        let number = *self.channels.entry(group).or_insert(next);
        fabric.set_listener(now, PlaceNumber(host.0), channel(number), joined);
        self.enter_steps();
    }

    /// Lets a change happen now, which the plan does not have: its driver decides when.
    pub fn apply(&mut self, now: Time, change: Change) {
        self.now = self.now.max(now);
        self.change(self.now, change);
    }

    /// When something happens next.
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        self.events.next_time()
    }

    /// Lets everything happen that is due by `now`; what has reached hosts is put into `due`, in
    /// the order of time.
    pub fn poll(&mut self, now: Time, due: &mut Vec<Due>) {
        while self.events.next_time().is_some_and(|at| at <= now) {
            let Some((at, happening)) = self.events.pop() else { return };
            self.now = self.now.max(at);
            self.happen(at, happening, due);
        }
        self.now = self.now.max(now);
    }

    /// What became of packets on each link: each hop, or the path of each pair that had any.
    #[must_use]
    pub fn accounts(&self) -> Vec<LinkAccount> {
        let Some(fabric) = &self.fabric else { return self.paths.values().cloned().collect() };
        let name = |place: Place| {
            self.plan.labels.get(&place).cloned().unwrap_or_else(|| place.to_string())
        };
        let account = |(report, waiting): (&_, usize)| LinkAccount::of(report, waiting, &name);
        fabric.reports().map(account).collect()
    }

    /// Packets that have reached a host which was not up.
    #[must_use]
    pub fn unheard(&self) -> u64 {
        self.unheard
    }

    fn happen(&mut self, at: Time, happening: ScheduledEvent, due: &mut Vec<Due>) {
        match happening {
            ScheduledEvent::Due(arrived) => {
                if self.up[usize::from(arrived.to.0)] {
                    due.push(arrived);
                } else {
                    self.unheard += 1;
                }
            }
            ScheduledEvent::Step(step) => self.on_step(at, step, due),
            ScheduledEvent::Start(host) => self.set_up(at, host, true),
            ScheduledEvent::Change(number) => {
                let change = self.plan.changes[number].1.clone();
                self.change(at, change);
            }
            ScheduledEvent::FlowStart(number) => {
                let flow = &self.plan.flows[usize::from(number)];
                self.flows[usize::from(number)].start(at, flow, self.plan.seed);
                self.settle_flow(at, number, Side::Source);
            }
            ScheduledEvent::FlowStop(number) => self.flows[usize::from(number)].stop(),
            ScheduledEvent::FlowWake(number, side) => {
                self.flows[usize::from(number)].on_wake(at, side);
                self.settle_flow(at, number, side);
            }
        }
    }

    fn send_shared(&mut self, from: Host, to: Recipient, ecn: Option<Ecn>, bytes: Rc<[u8]>) {
        let Some(fabric) = &mut self.fabric else { return };
        let target = match to {
            Recipient::Group => Target::Group(fabric.group(from)),
            Recipient::Members(group) => match self.channels.get(&group) {
                Some(number) => Target::Channel(channel(*number)),
                // Nobody has joined it.
                None => return,
            },
            Recipient::Host(host) => Target::Place(PlaceNumber(host.0)),
        };
        let packet = Packet::whole((from, PlaceNumber(from.0)), target, ecn, bytes);
        fabric.send(self.now, packet);
        self.enter_steps();
    }

    /// The path of one pair; a packet for a group takes that of each.
    fn send_path(&mut self, from: Host, to: Host, ecn: Option<Ecn>, bytes: &Rc<[u8]>) {
        let label = |host: Host| {
            let place = Place::Host(host);
            self.plan.labels.get(&place).cloned().unwrap_or_else(|| place.to_string())
        };
        let account = self
            .paths
            .entry((from, to))
            .or_insert_with(|| LinkAccount::new(label(from), label(to)));
        // The network adds the headers to what a session sends: here they are in the packet.
        let headers = HEADER_BYTES.min(bytes.len());
        let before = self.network.counts;
        let peer = Destination::Peer(to.address());
        let deliveries = self.network.send(self.now, from, peer, &bytes[headers..], 0);
        account.on_path(bytes.len(), &before, &self.network.counts);
        for delivery in deliveries {
            let (at, corrupted) = (delivery.at, delivery.hash != 0);
            let bytes = match corrupted {
                true => [&bytes[..headers], &delivery.bytes[..]].concat().into(),
                false => Rc::clone(bytes),
            };
            self.events.push(at, ScheduledEvent::Due(Due { at, from, to, ecn, bytes, corrupted }));
        }
    }

    fn on_step(&mut self, at: Time, step: Step, due: &mut Vec<Due>) {
        let Some(fabric) = &mut self.fabric else { return };
        let arrived = fabric.on_step(at, step);
        let place = arrived.as_ref().map(|(place, _)| (fabric.place(*place), *place));
        self.enter_steps();
        let (Some((_, packet)), Some(place)) = (arrived, place) else { return };
        match (packet.flow, place) {
            (FlowId::Background(number), _) => {
                if let Some(side) = self.flows[usize::from(number)].on_packet(at, &packet) {
                    self.settle_flow(at, number, side);
                }
            }
            (FlowId::Host(from), (Place::Host(to), _)) if self.up[usize::from(to.0)] => {
                let Payload::Datagram(bytes, hash) = packet.payload else { return };
                due.push(Due { at, from, to, ecn: packet.ecn, bytes, corrupted: hash != 0 });
            }
            // Layered sessions are of the simulator alone: a scenario for the laboratory has none.
            (FlowId::Host(_) | FlowId::Layered(_), _) => self.unheard += 1,
        }
    }

    fn enter_steps(&mut self) {
        let Some(fabric) = &mut self.fabric else { return };
        for (at, step) in fabric.steps.drain(..) {
            self.events.push(at, ScheduledEvent::Step(step));
        }
    }

    fn change(&mut self, at: Time, change: Change) {
        match change {
            Change::Start(host) => self.set_up(at, host, true),
            Change::Crash(host) => self.set_up(at, host, false),
            Change::Partition(hosts) => self.set_side(hosts, 1),
            Change::Heal => self.set_side(Hosts::All, 0),
            Change::Link(from, to, link) => self.network.set_link(from, to, link),
            Change::Hop(from, to, hop) => {
                if let Some(fabric) = &mut self.fabric {
                    fabric.set_hop(at, from, to, hop);
                }
                self.enter_steps();
            }
            // What sessions do is the programs' own business.
            _ => {}
        }
    }
    fn set_up(&mut self, at: Time, host: Host, up: bool) {
        self.up[usize::from(host.0)] = up;
        self.network.set_up(host, up);
        if let Some(fabric) = &mut self.fabric {
            fabric.set_up(at, host, up);
        }
        self.enter_steps();
    }
    fn set_side(&mut self, hosts: Hosts, side: u8) {
        self.network.set_side(hosts, side);
        if let Some(fabric) = &mut self.fabric {
            fabric.set_side(hosts, side);
        }
    }

    fn plan_flows(&mut self) {
        let Some(fabric) = &self.fabric else { return };
        for (flow, number) in self.plan.flows.iter().zip(0..) {
            let place = |place: Place| {
                fabric.find(place).unwrap_or_else(|| panic!("flow {number}: no hop names {place}"))
            };
            self.flows.push(Running::new(number, [place(flow.from), place(flow.to)], flow));
            self.events.push(Time::ZERO + flow.during.start, ScheduledEvent::FlowStart(number));
            if flow.during.end < Duration::MAX {
                self.events.push(Time::ZERO + flow.during.end, ScheduledEvent::FlowStop(number));
            }
        }
    }
    fn settle_flow(&mut self, at: Time, number: u16, side: Side) {
        let flow = &mut self.flows[usize::from(number)];
        let packets = flow.drain(at, side);
        if let Some(wake) = flow.plan_wake(at, side) {
            self.events.push(wake, ScheduledEvent::FlowWake(number, side));
        }
        if let Some(fabric) = &mut self.fabric {
            packets.into_iter().for_each(|packet| fabric.send(at, packet));
        }
        self.enter_steps();
    }
}

/// Layered sessions are of the simulator alone: their numbers are free.
fn channel(number: u16) -> ChannelId {
    ChannelId { session: number, channel: 0 }
}

#[cfg(test)]
mod tests;
