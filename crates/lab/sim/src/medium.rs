//! A radio medium: while one node sends, the air is busy for all nodes, and all may hear it.
//!
//! The air is modelled as a place of its own. A node's hop to the air is its antenna: a queue and
//! the rate. On a half-duplex medium one antenna sends at a time, in turns by packet, without
//! collisions (an ideal access control). From the air a packet goes to its destinations; each pair
//! of nodes has its own loss. A multicast packet is sent once. Nodes do not relay for each other on
//! one medium.

use fanfare_proto::{Bitrate, Duration};

use super::place::Place;
use crate::{
    hop::Hop,
    link::{Link, Loss},
    path_loss::Reach,
    queue::Queue,
    topology::Edge,
};

/// A radio medium, as a plan describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Medium {
    nodes: Vec<Place>,
    rate: Bitrate,
    /// Nodes whose antennas have another.
    rates: Vec<(Place, Bitrate)>,
    delay: Duration,
    queue: Queue,
    half_duplex: bool,
    loss: Loss,
    pairs: Vec<(Place, Place, Loss)>,
    reach: Option<Reach>,
}

impl Medium {
    /// Half duplex at this rate, no loss, no delay, 50 packets waiting at each node.
    #[must_use]
    pub fn new(rate: Bitrate) -> Self {
        Self {
            nodes: Vec::new(),
            rate,
            rates: Vec::new(),
            delay: Duration::ZERO,
            queue: Queue::packets(50),
            half_duplex: true,
            loss: Loss::None,
            pairs: Vec::new(),
            reach: None,
        }
    }
    /// With these nodes too.
    #[must_use]
    pub fn nodes<P: Into<Place>>(mut self, nodes: impl IntoIterator<Item = P>) -> Self {
        self.nodes.extend(nodes.into_iter().map(Into::into));
        self
    }
    /// With this delay from the last bit sent to the last bit heard.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }
    /// With another rate for this node.
    #[must_use]
    pub fn rate_of(mut self, node: impl Into<Place>, rate: Bitrate) -> Self {
        self.rates.push((node.into(), rate));
        self
    }
    /// With this queue at each node.
    #[must_use]
    pub fn queue(self, queue: Queue) -> Self {
        Self { queue, ..self }
    }
    /// Each node has the rate for itself.
    #[must_use]
    pub fn full_duplex(self) -> Self {
        Self { half_duplex: false, ..self }
    }
    /// Loss between any two nodes of which nothing else is said.
    #[must_use]
    pub fn loss(self, loss: Loss) -> Self {
        Self { loss, ..self }
    }
    /// Loss from one node to another; the last word holds.
    #[must_use]
    pub fn pair(mut self, from: impl Into<Place>, to: impl Into<Place>, loss: Loss) -> Self {
        self.pairs.push((from.into(), to.into(), loss));
        self
    }
    /// Loss between its nodes, in the order in which they were named, as they move.
    #[must_use]
    pub fn reach(self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self }
    }

    pub(crate) fn mobility(&self) -> Option<&Reach> {
        self.reach.as_ref()
    }
    pub(crate) fn places(&self) -> &[Place] {
        &self.nodes
    }

    pub(crate) fn is_half_duplex(&self) -> bool {
        self.half_duplex
    }
    /// The hops of the `number`-th medium: to the air and from it.
    pub(crate) fn edges(&self, number: u16) -> impl Iterator<Item = Edge> {
        let air = Place::Medium(number);
        self.nodes.iter().flat_map(move |&node| {
            let own = self.rates.iter().rev().find(|(place, _)| *place == node);
            let rate = own.map_or(self.rate, |(_, rate)| *rate);
            let antenna = Hop::from(Link::wire().rate(rate, 0)).queue(self.queue);
            let heard = Hop::from(Link::wire().delay(self.delay));
            [Edge { from: node, to: air, hop: antenna }, Edge { from: air, to: node, hop: heard }]
        })
    }
    /// Loss from every other node to `to`.
    pub(crate) fn losses_to(&self, to: Place) -> impl Iterator<Item = (Place, Loss)> {
        self.nodes.iter().filter(move |from| **from != to).map(move |&from| {
            let said = self.pairs.iter().rev().find(|(a, b, _)| (*a, *b) == (from, to));
            (from, said.map_or(self.loss, |(_, _, loss)| *loss))
        })
    }
}

/// Chance of the nodes on the `number`-th medium: each company drives its own way.
pub(crate) fn medium_seed(seed: u64, number: u16) -> u64 {
    seed ^ u64::from(number) << 32
}
