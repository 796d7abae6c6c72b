//! Who hears whom: addresses, groups, partitions, and what happens to each datagram on each path.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::{collections::BTreeMap, rc::Rc};

use fanfare_proto::{Destination, Ecn, NodeId, Time, rng::Rng};

use crate::link::{Arrival, Link, LinkMemory, LinkOutcome, LinkRandomness, Traces};

/// One simulated machine; the number of its entry in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(pub u16);

/// Port of every host.
const PORT: u16 = 6003;

impl Host {
    /// Its node id.
    pub(crate) fn node_id(self) -> NodeId {
        NodeId(u32::from(self.0) + 1)
    }
    /// Its address: 10.0.x.y.
    #[must_use]
    pub fn address(self) -> SocketAddr {
        let n = self.0 + 1;
        let ip = Ipv4Addr::new(10, 0, (n >> 8) as u8, (n & 0xff) as u8);
        SocketAddr::new(IpAddr::V4(ip), PORT)
    }
    /// The host at an address, if it is of the form that [`Host::address`] gives.
    #[must_use]
    pub fn at(address: SocketAddr) -> Option<Self> {
        let IpAddr::V4(ip) = address.ip() else { return None };
        let [10, 0, x, y] = ip.octets() else { return None };
        u16::from_be_bytes([x, y]).checked_sub(1).map(Self)
    }
}

/// A choice of hosts, as plans name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// Every host.
    All,
    /// This one.
    One(Host),
    /// From the first up to and including the last.
    Span(Host, Host),
}

impl Hosts {
    /// Whether `host` is among them.
    #[must_use]
    pub fn contains(self, host: Host) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one == host,
            Self::Span(first, last) => (first..=last).contains(&host),
        }
    }
}

impl From<Host> for Hosts {
    fn from(host: Host) -> Self {
        Self::One(host)
    }
}

/// From whom, to whom, how. The last rule that fits a pair holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rule {
    pub(crate) from: Hosts,
    pub(crate) to: Hosts,
    pub(crate) link: Link,
}

/// Where one host is attached.
#[derive(Debug, Clone, Copy)]
struct Place {
    group: u8,
    up: bool,
    /// Hosts of different sides do not hear each other.
    side: u8,
}

/// Bytes on their way to one or more hosts that they reach at one time.
#[derive(Debug)]
pub struct Delivery {
    /// When.
    pub at: Time,
    /// Where it came from.
    pub source: SocketAddr,
    /// Sent to one host alone.
    pub unicast: bool,
    /// Its ECN mark.
    pub ecn: Option<Ecn>,
    /// Whom it reaches, in ascending order.
    pub to: Vec<Host>,
    /// The datagram, shared by all that hear it.
    pub bytes: Rc<[u8]>,
    /// Its hash, computed once.
    pub hash: u64,
}

/// What paths did to datagrams; counted per hearer, so one group datagram counts many times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathCounts {
    /// Arrived.
    pub arrived: u64,
    /// Lost on the way.
    pub lost: u64,
    /// Found a queue full.
    pub queue_full: u64,
    /// Arrived a second time.
    pub duplicated: u64,
    /// Arrived with a wrong bit.
    pub corrupted: u64,
}

/// All paths.
#[derive(Debug)]
pub struct Network {
    places: Vec<Place>,
    rules: Vec<Rule>,
    uplinks: Vec<Rule>,
    memory: BTreeMap<(Host, Option<Host>), LinkMemory>,
    rng: Rng,
    traces: Rc<Traces>,
    /// What paths did so far.
    pub counts: PathCounts,
}

impl Network {
    /// A network without hosts in which every pair is joined by `default`.
    #[must_use]
    pub fn new(seed: u64, default: Link) -> Self {
        let rule = |link| Rule { from: Hosts::All, to: Hosts::All, link };
        Self {
            places: Vec::new(),
            rules: vec![rule(default)],
            uplinks: vec![rule(Link::wire())],
            memory: BTreeMap::new(),
            rng: Rng::new(seed),
            traces: Rc::default(),
            counts: PathCounts::default(),
        }
    }
    /// With these loss traces.
    pub(crate) fn set_traces(&mut self, traces: Rc<Traces>) {
        self.traces = traces;
    }
    /// Adds a host to `group`; it is not up yet.
    pub fn add(&mut self, group: u8) -> Host {
        self.places.push(Place { group, up: false, side: 0 });
        Host((self.places.len() - 1) as u16)
    }
    /// Attaches or detaches a host.
    pub fn set_up(&mut self, host: Host, up: bool) {
        self.places[usize::from(host.0)].up = up;
    }
    /// Puts hosts on a side; hosts of different sides do not hear each other.
    pub fn set_side(&mut self, hosts: Hosts, side: u8) {
        for (place, number) in self.places.iter_mut().zip(0..) {
            if hosts.contains(Host(number)) {
                place.side = side;
            }
        }
    }
    /// Sets the path from some hosts to some hosts.
    pub fn set_link(&mut self, from: Hosts, to: Hosts, link: Link) {
        self.rules.retain(|rule| (rule.from, rule.to) != (from, to));
        self.rules.push(Rule { from, to, link });
    }
    /// Sets what happens to each datagram of some hosts before the paths part: a loss here is
    /// suffered by all hearers alike.
    pub fn set_uplink(&mut self, from: Hosts, link: Link) {
        self.uplinks.retain(|rule| rule.from != from);
        self.uplinks.push(Rule { from, to: Hosts::All, link });
    }

    /// Sends `bytes`; gives what arrives where and when, grouped by time.
    pub fn send(
        &mut self,
        now: Time,
        from: Host,
        to: Destination,
        bytes: &[u8],
        hash: u64,
    ) -> Vec<Delivery> {
        let mut out = Vec::new();
        let link = rule_for(&self.uplinks, from, from);
        let outcome = self.outcome(&link, (from, None), now, bytes.len());
        let LinkOutcome::Arrives(first, second) = outcome else { return out };
        for (left, again) in [(Some(first), false), (second, true)] {
            let Some(left) = left else { continue };
            self.counts.duplicated += u64::from(again);
            let mut sending = Sending { from, left, shared: bytes.into(), hash, unicast: false };
            match to {
                Destination::Group => self.fan_out(&sending, &mut out),
                Destination::Peer(address) => {
                    sending.unicast = true;
                    if let Some(peer) = Host::at(address) {
                        self.reach(&sending, peer, &mut out);
                    }
                }
            }
        }
        out
    }

    fn fan_out(&mut self, sending: &Sending, out: &mut Vec<Delivery>) {
        let group = self.places[usize::from(sending.from.0)].group;
        for number in 0..self.places.len() {
            let host = Host(number as u16);
            if host != sending.from && self.places[number].group == group {
                self.reach(sending, host, out);
            }
        }
    }

    fn reach(&mut self, sending: &Sending, to: Host, out: &mut Vec<Delivery>) {
        let place = |host: Host| self.places.get(usize::from(host.0)).copied();
        let (Some(here), Some(there)) = (place(sending.from), place(to)) else { return };
        if !there.up || here.side != there.side {
            return;
        }
        let link = rule_for(&self.rules, sending.from, to);
        let bytes = sending.shared.len();
        let outcome = self.outcome(&link, (sending.from, Some(to)), sending.left.at, bytes);
        if let LinkOutcome::Arrives(first, second) = outcome {
            self.counts.arrived += 1;
            self.arrive(sending, first, to, out);
            if let Some(second) = second {
                self.counts.duplicated += 1;
                self.arrive(sending, second, to, out);
            }
        }
    }

    fn outcome(
        &mut self,
        link: &Link,
        path: (Host, Option<Host>),
        now: Time,
        bytes: usize,
    ) -> LinkOutcome {
        let mut none = LinkMemory::default();
        let memory = match link.remembers() {
            true => self.memory.entry(path).or_default(),
            false => &mut none,
        };
        let outcome = {
            let chance = &mut LinkRandomness { rng: &mut self.rng, traces: &self.traces };
            link.carry(memory, now, bytes, chance)
        };
        self.counts.lost += u64::from(outcome == LinkOutcome::Lost);
        self.counts.queue_full += u64::from(outcome == LinkOutcome::QueueFull);
        outcome
    }

    fn arrive(&mut self, sending: &Sending, arrival: Arrival, to: Host, out: &mut Vec<Delivery>) {
        let flip = arrival.flip.or(sending.left.flip);
        if let Some(bit) = flip {
            self.counts.corrupted += 1;
            let mut bytes = sending.shared.to_vec();
            bytes[(bit / 8) as usize] ^= 0x80 >> (bit % 8);
            out.push(sending.delivery(arrival.at, to, bytes.into(), sending.hash ^ (bit + 1)));
            return;
        }
        // Hearers at equal distance share one event; with a delay of their own each has its own.
        let same = |d: &&mut Delivery| d.at == arrival.at && Rc::ptr_eq(&d.bytes, &sending.shared);
        match out.last_mut().filter(same) {
            Some(delivery) => delivery.to.push(to),
            None => {
                out.push(sending.delivery(arrival.at, to, Rc::clone(&sending.shared), sending.hash))
            }
        }
    }
}

/// One datagram that has left its host.
struct Sending {
    from: Host,
    left: Arrival,
    shared: Rc<[u8]>,
    hash: u64,
    unicast: bool,
}

impl Sending {
    fn delivery(&self, at: Time, to: Host, bytes: Rc<[u8]>, hash: u64) -> Delivery {
        let (source, unicast) = (self.from.address(), self.unicast);
        Delivery { at, source, unicast, ecn: None, to: vec![to], bytes, hash }
    }
}

fn rule_for(rules: &[Rule], from: Host, to: Host) -> Link {
    rules
        .iter()
        .rev()
        .find(|rule| rule.from.contains(from) && rule.to.contains(to))
        .map_or_else(Link::default, |rule| rule.link)
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Duration;

    use super::*;

    fn network(hosts: usize, link: Link) -> Network {
        let mut network = Network::new(1, link);
        for _ in 0..hosts {
            let host = network.add(0);
            network.set_up(host, true);
        }
        network
    }
    fn hearers(deliveries: &[Delivery]) -> Vec<u16> {
        deliveries.iter().flat_map(|d| d.to.iter().map(|h| h.0)).collect()
    }

    #[test]
    fn an_address_names_its_host() {
        for n in [0, 1, 254, 255, 256, 999] {
            assert_eq!(Host::at(Host(n).address()), Some(Host(n)));
        }
    }

    #[test]
    fn a_group_datagram_reaches_all_others_at_once_in_one_shared_copy() {
        let mut network = network(1000, Link::default());
        let out = network.send(Time::ZERO, Host(7), Destination::Group, b"x", 1);
        assert_eq!((out.len(), out[0].to.len()), (1, 999));
        assert!(!out[0].to.contains(&Host(7)) && !out[0].unicast);
    }

    #[test]
    fn a_peer_datagram_reaches_that_peer_alone() {
        let mut network = network(3, Link::default());
        let to = Destination::Peer(Host(2).address());
        let out = network.send(Time::ZERO, Host(0), to, b"x", 1);
        assert!(hearers(&out) == [2] && out[0].unicast);
    }

    #[test]
    fn a_partition_separates_and_the_two_directions_of_a_path_differ() {
        let mut network = network(4, Link::default());
        network.set_side(Hosts::Span(Host(2), Host(3)), 1);
        let group = Destination::Group;
        assert_eq!(hearers(&network.send(Time::ZERO, Host(0), group, b"x", 1)), [1]);
        network.set_link(Host(1).into(), Hosts::All, Link::down());
        assert!(network.send(Time::ZERO, Host(1), group, b"x", 1).is_empty());
        assert_eq!(hearers(&network.send(Time::ZERO, Host(0), group, b"x", 1)), [1]);
    }

    #[test]
    fn a_loss_on_the_uplink_is_suffered_by_all_alike() {
        let mut network = network(10, Link::default());
        network.set_uplink(Host(0).into(), Link::wire().loss(0.5));
        for _ in 0..100 {
            let out = network.send(Time::ZERO, Host(0), Destination::Group, b"x", 1);
            assert!([0, 9].contains(&hearers(&out).len()));
        }
    }

    #[test]
    fn a_corrupted_copy_differs_in_one_bit_and_only_for_its_hearer() {
        let mut network = network(3, Link::default());
        network.set_link(Hosts::All, Host(1).into(), Link::default().corrupt(1.0));
        let out = network.send(Time::ZERO, Host(0), Destination::Group, &[0; 9], 1);
        let ones = |d: &Delivery| d.bytes.iter().map(|b| b.count_ones()).sum::<u32>();
        assert_eq!(out.iter().map(ones).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn hosts_at_their_own_distance_hear_at_their_own_time() {
        let mut network = network(3, Link::default());
        let far = Link::default().delay(Duration::from_millis(50));
        network.set_link(Hosts::All, Host(1).into(), far);
        let out = network.send(Time::ZERO, Host(0), Destination::Group, b"x", 1);
        assert_eq!(out.iter().map(|d| d.at.as_nanos() / 1_000_000).collect::<Vec<_>>(), [50, 5]);
    }
}
