//! A network with shared hops: places, the hops between neighbours, and the routes over them.
//!
//! Routes are static: the least delay, then the fewest hops, then the hop that was named first.
//! They do not change when a hop goes down. A multicast datagram travels along the union of the
//! routes from its source to the members, once over each hop.

use std::collections::{BTreeMap, BTreeSet};

use fanfare_proto::Duration;

use super::place::{HopNumber, Place, PlaceNumber};
use crate::{hop::Hop, network::Host};

/// One direction between two neighbours, as a plan names it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edge {
    pub(crate) from: Place,
    pub(crate) to: Place,
    pub(crate) hop: Hop,
}

/// Places and hops by number, and the routes over them.
#[derive(Debug)]
pub(crate) struct Topology {
    places: Vec<Place>,
    numbers: BTreeMap<Place, PlaceNumber>,
    /// For each hop: from, to, delay.
    hops: Vec<(PlaceNumber, PlaceNumber, Duration)>,
    /// For each place, the hops that begin there.
    leaving: Vec<Vec<HopNumber>>,
}

impl Topology {
    pub(crate) fn new(hosts: u16, edges: &[Edge]) -> Self {
        let mut topology = Self {
            places: Vec::new(),
            numbers: BTreeMap::new(),
            hops: Vec::new(),
            leaving: Vec::new(),
        };
        (0..hosts).for_each(|n| {
            topology.number(Place::Host(Host(n)));
        });
        for edge in edges {
            let (from, to) = (topology.number(edge.from), topology.number(edge.to));
            topology.leaving[usize::from(from.0)].push(topology.hops.len());
            topology.hops.push((from, to, edge.hop.link.delay));
        }
        topology
    }

    fn number(&mut self, place: Place) -> PlaceNumber {
        let next = PlaceNumber(self.places.len() as u16);
        let number = *self.numbers.entry(place).or_insert(next);
        if number == next {
            self.places.push(place);
            self.leaving.push(Vec::new());
        }
        number
    }

    /// The number of a place that a hop or a host has named.
    pub(crate) fn find(&self, place: Place) -> Option<PlaceNumber> {
        self.numbers.get(&place).copied()
    }
    pub(crate) fn place(&self, number: PlaceNumber) -> Place {
        self.places[usize::from(number.0)]
    }
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The hop by which each place is reached from `source` (Dijkstra).
    fn reached_by(&self, source: PlaceNumber) -> Vec<Option<HopNumber>> {
        let mut by: Vec<Option<HopNumber>> = vec![None; self.places.len()];
        let mut best = vec![(Duration::MAX, u32::MAX); self.places.len()];
        let mut open = BTreeSet::from([(Duration::ZERO, 0, source)]);
        best[usize::from(source.0)] = (Duration::ZERO, 0);
        while let Some((delay, count, at)) = open.pop_first() {
            for number in &self.leaving[usize::from(at.0)] {
                let (_, to, length) = self.hops[*number];
                let reach = (delay + length, count + 1);
                let known = &mut best[usize::from(to.0)];
                if reach < *known {
                    *known = reach;
                    by[usize::from(to.0)] = Some(*number);
                    open.insert((reach.0, reach.1, to));
                }
            }
        }
        by
    }

    /// The tree from `source` to `members`: for each place, the hops on which it passes on.
    pub(crate) fn tree(&self, source: PlaceNumber, members: &[PlaceNumber]) -> Vec<Vec<HopNumber>> {
        let by = self.reached_by(source);
        let mut used = BTreeSet::new();
        for member in members {
            let mut at = *member;
            while let Some(hop) = by[usize::from(at.0)].filter(|hop| used.insert(*hop)) {
                at = self.hops[hop].0;
            }
        }
        let mut tree = vec![Vec::new(); self.places.len()];
        for hop in used {
            tree[usize::from(self.hops[hop].0.0)].push(hop);
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use crate::Router;

    use super::*;
    use crate::link::Link;

    /// host 0 - router 0 - router 1 - hosts 1 and 2; and a slow way from router 0 to host 2.
    fn topology() -> Topology {
        let hop = |ms| Hop::from(Link::default().delay(Duration::from_millis(ms)));
        let edge = |from, to, ms| Edge { from, to, hop: hop(ms) };
        let (host, router) = (|n| Place::Host(Host(n)), |n| Place::Router(Router(n)));
        let edges = [
            edge(host(0), router(0), 1),
            edge(router(0), router(1), 1),
            edge(router(1), host(1), 1),
            edge(router(1), host(2), 1),
            edge(router(0), host(2), 9),
        ];
        Topology::new(3, &edges)
    }
    fn hops(tree: &[Vec<HopNumber>]) -> Vec<HopNumber> {
        tree.iter().flatten().copied().collect()
    }

    #[test]
    fn a_route_has_the_least_delay() {
        assert_eq!(hops(&topology().tree(PlaceNumber(0), &[PlaceNumber(2)])), [0, 1, 3]);
    }

    #[test]
    fn a_tree_uses_each_hop_once() {
        let members = [PlaceNumber(1), PlaceNumber(2)];
        assert_eq!(hops(&topology().tree(PlaceNumber(0), &members)), [0, 1, 2, 3]);
    }

    #[test]
    fn hops_have_one_direction_and_what_is_not_reached_gets_no_hop() {
        assert!(hops(&topology().tree(PlaceNumber(1), &[PlaceNumber(0)])).is_empty());
    }
}
