//! A running topology: packets go from hop to hop, and all share each hop's queue and line.

mod channels;

pub(crate) use channels::ChannelId;

use super::place::{HopNumber, Place, PlaceNumber};
use crate::{
    hop::Hop,
    link::Traces,
    medium::Medium,
    medium::medium_seed,
    network::{Host, Hosts},
    packet::{Packet, Target},
    path_loss::{PathLoss, Reach},
    port::{Departure, Port},
    results::hop_report::HopReport,
    topology::{Edge, Topology},
};
use channels::Channels;
use fanfare_proto::{Duration, Time};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
    sync::Arc,
};

/// Keeps the seeds of hops apart from each other and from those of hosts.
const HOP_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// What comes later.
#[derive(Debug)]
pub(crate) enum Step {
    /// A packet reaches a place.
    Arrive(PlaceNumber, Packet),
    /// The packet on a hop's line has left.
    Sent(HopNumber),
    /// The network has learned that a host is a member of its group, or no longer is one. Void when
    /// the host has since come or gone again.
    Member(Host, bool, u32),
    /// The network has learned that a place has joined or left a channel; void as above.
    Listener(PlaceNumber, ChannelId, u32),
    /// Nodes of a radio have moved: its n-th, to its path loss's n-th moment.
    Fade(usize, usize),
}

/// How long the network takes to learn who is in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MembershipLatency {
    /// Until the group's packets turn to a new member.
    pub join: Duration,
    /// Until they no longer go where the last member has left: they fill the hops for nothing.
    pub leave: Duration,
}

/// One host.
#[derive(Debug, Clone, Copy)]
struct Membership {
    group: u8,
    up: bool,
    /// Comings and goings so far.
    epoch: u32,
}

/// A medium whose nodes move.
#[derive(Debug)]
struct Radio {
    places: Vec<PlaceNumber>,
    /// From the air to each of them.
    hops: Vec<HopNumber>,
    path_loss: Arc<PathLoss>,
    reach: Reach,
}

/// For each place, the hops on which it passes on.
type Tree = Rc<Vec<Vec<HopNumber>>>;

/// The shared network of a run.
#[derive(Debug)]
pub(crate) struct Fabric {
    topology: Topology,
    ports: Vec<Port>,
    /// Antennas of each half-duplex medium, in the order of their turns.
    airs: Vec<VecDeque<HopNumber>>,
    /// The half-duplex medium that a hop is an antenna of.
    air_of: BTreeMap<HopNumber, usize>,
    /// Media whose nodes move.
    radios: Vec<Radio>,
    hosts: Vec<Membership>,
    members: BTreeMap<u8, BTreeSet<PlaceNumber>>,
    channels: Channels,
    latency: MembershipLatency,
    /// Places of different sides do not reach each other.
    sides: Vec<u8>,
    trees: BTreeMap<(PlaceNumber, Target), Tree>,
    departures: Vec<Departure>,
    /// What is to be entered on the agenda.
    pub(crate) steps: Vec<(Time, Step)>,
}

impl Fabric {
    /// The network of a plan. Queueing delays count from `warm` on.
    pub(crate) fn new(
        groups: &[u8],
        edges: &[Edge],
        latency: MembershipLatency,
        (seed, warm): (u64, Time),
        traces: &Rc<Traces>,
    ) -> Self {
        let topology = Topology::new(groups.len() as u16, edges);
        let port = |(number, edge): (usize, &Edge)| {
            let to = topology.find(edge.to).unwrap_or(PlaceNumber(0));
            let seed = seed ^ (number as u64 + 1).wrapping_mul(HOP_SEED);
            let port = Port::new((edge.from, edge.to), to, edge.hop, seed, warm);
            port.with_traces(Rc::clone(traces))
        };
        Self {
            ports: edges.iter().enumerate().map(port).collect(),
            airs: Vec::new(),
            air_of: BTreeMap::new(),
            radios: Vec::new(),
            hosts: groups.iter().map(|&group| Membership { group, up: false, epoch: 0 }).collect(),
            members: BTreeMap::new(),
            channels: Channels::default(),
            latency,
            sides: vec![0; topology.len()],
            topology,
            trees: BTreeMap::new(),
            departures: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// The hops of the `number`-th medium share its air.
    pub(crate) fn share_air(&mut self, number: u16, medium: &Medium) {
        let air = Place::Medium(number);
        if medium.is_half_duplex() {
            let antennas = (0..self.ports.len()).filter(|hop| self.ports[*hop].report.to == air);
            let antennas: VecDeque<HopNumber> = antennas.collect();
            self.air_of.extend(antennas.iter().map(|hop| (*hop, self.airs.len())));
            self.airs.push(antennas);
        }
        for port in self.ports.iter_mut().filter(|port| port.report.from == air) {
            for (from, loss) in medium.losses_to(port.report.to) {
                if let Some(from) = self.topology.find(from) {
                    port.lose_from(from, loss);
                }
            }
        }
    }

    /// Loss on the `number`-th medium follows its nodes' path loss from now on.
    pub(crate) fn follow(&mut self, number: u16, medium: &Medium, (seed, until): (u64, Duration)) {
        let Some(reach) = medium.mobility() else { return };
        let places = medium.places().iter().filter_map(|place| self.topology.find(*place));
        let places: Vec<PlaceNumber> = places.collect();
        let path_loss = reach.path_loss(places.len(), medium_seed(seed, number), until);
        let air = Place::Medium(number);
        let to = |place: &PlaceNumber| {
            let heard = |port: &Port| port.report.from == air && port.to == *place;
            self.ports.iter().position(heard)
        };
        let hops = places.iter().filter_map(to).collect();
        self.radios.push(Radio { places, hops, path_loss, reach: reach.clone() });
        self.fade(self.radios.len() - 1, 0);
    }

    fn fade(&mut self, radio: usize, number: usize) {
        let Radio { places, hops, path_loss, reach } = &self.radios[radio];
        let Some(moment) = path_loss.moments().get(number) else { return };
        for (to, hop) in hops.iter().enumerate() {
            for (from, place) in places.iter().enumerate().filter(|(from, _)| *from != to) {
                let loss = reach.loss(path_loss.between(moment, from, to));
                self.ports[*hop].lose_from(*place, loss);
            }
        }
        if let Some(next) = path_loss.moments().get(number + 1) {
            self.steps.push((Time::ZERO + next.at, Step::Fade(radio, number + 1)));
        }
    }

    /// A host comes or goes; the network learns of it in time.
    pub(crate) fn set_up(&mut self, now: Time, host: Host, up: bool) {
        let member = &mut self.hosts[usize::from(host.0)];
        member.up = up;
        member.epoch += 1;
        let (epoch, latency) = (member.epoch, self.latency);
        match if up { latency.join } else { latency.leave } {
            Duration::ZERO => self.learn(host, up),
            after => self.steps.push((now + after, Step::Member(host, up, epoch))),
        }
    }

    /// A place joins or leaves a channel; the network learns of it in time.
    pub(crate) fn set_listener(
        &mut self,
        now: Time,
        place: PlaceNumber,
        id: ChannelId,
        joined: bool,
    ) {
        let epoch = self.channels.set(place, id, joined);
        match if joined { self.latency.join } else { self.latency.leave } {
            Duration::ZERO => self.learn_listener(place, id, epoch),
            after => self.steps.push((now + after, Step::Listener(place, id, epoch))),
        }
    }

    fn learn_listener(&mut self, place: PlaceNumber, id: ChannelId, epoch: u32) {
        if self.channels.learn(place, id, epoch) {
            self.trees.retain(|(_, target), _| *target != Target::Channel(id));
        }
    }

    fn learn(&mut self, host: Host, joined: bool) {
        let (group, place) = (self.hosts[usize::from(host.0)].group, PlaceNumber(host.0));
        let members = self.members.entry(group).or_default();
        let changed = if joined { members.insert(place) } else { members.remove(&place) };
        if changed {
            self.trees.retain(|(_, target), _| *target != Target::Group(group));
        }
    }

    /// Puts hosts on a side: nothing passes between sides. Routers are on side 0.
    pub(crate) fn set_side(&mut self, hosts: Hosts, side: u8) {
        for (number, _) in self.hosts.iter().enumerate() {
            if hosts.contains(Host(number as u16)) {
                self.sides[number] = side;
            }
        }
    }

    /// Every hop from one place to another changes. What was held and no longer is goes at once.
    pub(crate) fn set_hop(&mut self, now: Time, from: Place, to: Place, hop: Hop) {
        for number in 0..self.ports.len() {
            let report = &self.ports[number].report;
            if (report.from, report.to) == (from, to) {
                self.ports[number].change(hop);
                self.start_line(now, number);
            }
        }
    }

    pub(crate) fn find(&self, place: Place) -> Option<PlaceNumber> {
        self.topology.find(place)
    }
    pub(crate) fn place(&self, number: PlaceNumber) -> Place {
        self.topology.place(number)
    }
    pub(crate) fn group(&self, host: Host) -> u8 {
        self.hosts[usize::from(host.0)].group
    }

    /// A packet leaves its source.
    pub(crate) fn send(&mut self, now: Time, packet: Packet) {
        self.pass_on(now, packet.source, packet);
    }

    /// Something that was entered on the agenda happens. Gives the packet that has arrived where it
    /// belongs.
    pub(crate) fn on_step(&mut self, now: Time, step: Step) -> Option<(PlaceNumber, Packet)> {
        match step {
            Step::Arrive(place, packet) => {
                let here = self.belongs(place, &packet).then(|| (place, packet.clone()));
                self.pass_on(now, place, packet);
                return here;
            }
            Step::Sent(hop) => {
                self.ports[hop].on_sent(now, &mut self.departures);
                self.drain(hop);
                self.start_line(now, hop);
            }
            Step::Member(host, joined, epoch) => {
                if self.hosts[usize::from(host.0)].epoch == epoch {
                    self.learn(host, joined);
                }
            }
            Step::Listener(place, id, epoch) => self.learn_listener(place, id, epoch),
            Step::Fade(radio, moment) => self.fade(radio, moment),
        }
        None
    }

    fn belongs(&self, place: PlaceNumber, packet: &Packet) -> bool {
        match packet.target {
            Target::Place(target) => target == place,
            Target::Channel(id) => self.channels.hears(place, id),
            Target::Group(group) => {
                let member = self.hosts.get(usize::from(place.0));
                place != packet.source && member.is_some_and(|m| m.up && m.group == group)
            }
        }
    }

    fn pass_on(&mut self, now: Time, at: PlaceNumber, mut packet: Packet) {
        if !matches!(self.place(at), Place::Medium(_)) {
            packet.before_air = at;
        }
        let tree = self.tree(packet.source, packet.target);
        for &hop in &tree[usize::from(at.0)] {
            let port = &mut self.ports[hop];
            if self.sides[usize::from(at.0)] != self.sides[usize::from(port.to.0)] {
                port.on_cut();
                continue;
            }
            port.on_packet(now, packet.clone(), &mut self.departures);
            self.drain(hop);
            self.start_line(now, hop);
        }
    }

    fn start_line(&mut self, now: Time, hop: HopNumber) {
        if let Some(air) = self.air_of.get(&hop) {
            return self.start_air(now, *air);
        }
        let port = &mut self.ports[hop];
        if !port.is_sending()
            && let Some(at) = port.poll_line(now)
        {
            self.steps.push((at, Step::Sent(hop)));
        }
    }

    /// The next antenna that has something to send gets the air, when nobody has it.
    fn start_air(&mut self, now: Time, air: usize) {
        let antennas = &mut self.airs[air];
        if antennas.iter().any(|hop| self.ports[*hop].is_sending()) {
            return;
        }
        for turn in 0..antennas.len() {
            let hop = antennas[turn];
            if let Some(at) = self.ports[hop].poll_line(now) {
                antennas.rotate_left(turn + 1);
                self.steps.push((at, Step::Sent(hop)));
                return;
            }
        }
    }

    fn drain(&mut self, hop: HopNumber) {
        let to = self.ports[hop].to;
        let arrive = |Departure { at, packet }| (at, Step::Arrive(to, packet));
        self.steps.extend(self.departures.drain(..).map(arrive));
    }

    fn tree(&mut self, source: PlaceNumber, target: Target) -> Tree {
        if let Some(tree) = self.trees.get(&(source, target)) {
            return Rc::clone(tree);
        }
        let members = match target {
            Target::Place(place) => vec![place],
            Target::Channel(id) => self.channels.served(id),
            Target::Group(group) => {
                self.members.get(&group).into_iter().flatten().copied().collect()
            }
        };
        let tree = Rc::new(self.topology.tree(source, &members));
        self.trees.insert((source, target), Rc::clone(&tree));
        tree
    }

    /// Each hop's report, and how many packets are in its queue and on its line.
    pub(crate) fn reports(&self) -> impl Iterator<Item = (&HopReport, usize)> {
        self.ports.iter().map(|port| (&port.report, port.waiting()))
    }
    pub(crate) fn into_reports(self) -> Vec<HopReport> {
        self.ports.into_iter().map(|port| port.report).collect()
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{Bitrate, Ecn};

    use super::*;
    use crate::{
        event_queue::EventQueue,
        link::Link,
        place::Router,
        queue::{Queue, Red},
    };

    /// Host 0 - router 0 - router 1 - hosts 1 to 3, all in group 0.
    fn fabric(latency: MembershipLatency) -> Fabric {
        let line = Link::default().rate(Bitrate::mbps(1), 64 << 10);
        let mut ends = vec![(Place::from(Host(0)), Place::from(Router(0)))];
        ends.push((Router(0).into(), Router(1).into()));
        ends.extend((1..4).map(|n| (Router(1).into(), Host(n).into())));
        let edges: Vec<Edge> =
            ends.into_iter().map(|(from, to)| Edge { from, to, hop: line.into() }).collect();
        let mut fabric = Fabric::new(&[0; 4], &edges, latency, (1, Time::ZERO), &Rc::default());
        (0..4).for_each(|n| fabric.set_up(Time::ZERO, Host(n), true));
        fabric
    }
    fn to_group(bytes: usize) -> Packet {
        let from = (Host(0), PlaceNumber(0));
        Packet::datagram(from, Target::Group(0), None, vec![0; bytes].into(), 1)
    }
    /// Runs until nothing more happens; gives where and when packets arrived.
    fn arrivals(fabric: &mut Fabric) -> Vec<(u16, u128)> {
        let all = arrivals_with(fabric, |_| ());
        all.into_iter().map(|(place, ms, ())| (place, ms)).collect()
    }
    fn arrivals_with<T>(fabric: &mut Fabric, of: impl Fn(&Packet) -> T) -> Vec<(u16, u128, T)> {
        let (mut events, mut arrived) = (EventQueue::new(), Vec::new());
        loop {
            fabric.steps.drain(..).for_each(|(at, step)| events.push(at, step));
            let Some((now, step)) = events.pop() else { return arrived };
            if let Some((place, packet)) = fabric.on_step(now, step) {
                arrived.push((place.0, now.since(Time::ZERO).as_millis(), of(&packet)));
            }
        }
    }

    #[test]
    fn a_group_datagram_crosses_each_hop_once_and_reaches_every_member() {
        let mut fabric = fabric(MembershipLatency::default());
        fabric.send(Time::ZERO, to_group(972));
        // Three lines of 8 ms and 5 ms each.
        assert_eq!(arrivals(&mut fabric), [(1, 39), (2, 39), (3, 39)]);
        assert!(fabric.into_reports().iter().all(|hop| hop.carried == 1));
    }

    #[test]
    fn who_has_left_costs_until_the_network_knows() {
        let leave = Duration::from_secs(2);
        let mut fabric = fabric(MembershipLatency { join: Duration::ZERO, leave });
        fabric.set_up(Time::ZERO, Host(3), false);
        fabric.send(Time::ZERO, to_group(972));
        assert_eq!(arrivals(&mut fabric).len(), 2);
        fabric.send(Time::ZERO + leave, to_group(972));
        assert_eq!(arrivals(&mut fabric).len(), 2);
        assert_eq!(fabric.into_reports()[4].carried, 1);
    }

    #[test]
    fn a_partition_stops_packets_at_the_hop_that_crosses_it() {
        let mut fabric = fabric(MembershipLatency::default());
        fabric.set_side(Hosts::One(Host(2)), 1);
        fabric.send(Time::ZERO, to_group(972));
        assert_eq!(arrivals(&mut fabric).len(), 2);
        assert_eq!(fabric.into_reports()[3].down, 1);
    }

    #[test]
    fn a_mark_made_by_a_queue_arrives_with_the_packet() {
        let mut fabric = fabric(MembershipLatency::default());
        let red = Red { weight: 1.0, ..Red::new(0.0, 1.0) };
        let line = Hop::from(Link::default().rate(Bitrate::mbps(1), 0)).queue(Queue::Red(red));
        fabric.set_hop(Time::ZERO, Host(0).into(), Router(0).into(), line);
        for _ in 0..4 {
            fabric.send(Time::ZERO, Packet { ecn: Some(Ecn::Ect0), ..to_group(972) });
        }
        let arrived = arrivals_with(&mut fabric, |packet| packet.ecn);
        let marks = arrived.iter().filter(|(_, _, ecn)| *ecn == Some(Ecn::Ce)).count();
        let marked = fabric.into_reports()[0].marked as usize;
        assert!(marked > 0 && marks == 3 * marked, "{arrived:?}");
    }
}
