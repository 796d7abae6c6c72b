//! Plans over a topology: hops that all routes share, and other traffic on them.

use fanfare_proto::{Duration, ReceiverConfig, SenderConfig, SessionConfig};

use super::Plan;
use crate::{
    fabric::MembershipLatency,
    flow::{Flow, layered::LayeredFlow},
    hop::Hop,
    link::Link,
    medium::{Medium, medium_seed},
    network::Host,
    path_loss::Contacts,
    place::{Place, Router},
    topology::Edge,
};

impl Plan {
    /// The classic test of sharing: `pairs` senders and receivers, each pair a group of its own,
    /// with one bottleneck between them, the same in both directions.
    ///
    /// Pair n is [`Plan::sender_of`] and [`Plan::receiver_of`] n, in group n. Senders are joined to
    /// router 0 and receivers to router 1 without delay or limit; `hop` and `wire` change that.
    #[must_use]
    pub fn dumbbell(seed: u64, pairs: u8, bottleneck: impl Into<Hop>) -> Self {
        let access = Hop::from(Link::wire());
        let mut plan = Self::new(seed).wire(Router(0), Router(1), bottleneck);
        for pair in 0..pairs {
            let (sender, receiver) = (Self::sender_of(pair), Self::receiver_of(pair));
            let receives = Some(ReceiverConfig::default());
            plan = plan
                .sender(SenderConfig::default())
                .host(SessionConfig { receiver: receives, ..SessionConfig::default() })
                .group(sender, pair)
                .group(receiver, pair)
                .wire(sender, Router(0), access)
                .wire(Router(1), receiver, access);
        }
        plan
    }
    /// The sending host of a dumbbell's pair.
    #[must_use]
    pub fn sender_of(pair: u8) -> Host {
        Host(2 * u16::from(pair))
    }
    /// The receiving host of a dumbbell's pair.
    #[must_use]
    pub fn receiver_of(pair: u8) -> Host {
        Host(2 * u16::from(pair) + 1)
    }

    /// A hop in one direction. A plan with hops has no other paths: what `link`, `path` and
    /// `uplink` say does not count. The last word on two neighbours holds.
    #[must_use]
    pub fn hop(
        mut self,
        from: impl Into<Place>,
        to: impl Into<Place>,
        hop: impl Into<Hop>,
    ) -> Self {
        let edge = Edge { from: from.into(), to: to.into(), hop: hop.into() };
        match self.hops.iter_mut().find(|e| (e.from, e.to) == (edge.from, edge.to)) {
            Some(known) => *known = edge,
            None => self.hops.push(edge),
        }
        self
    }
    /// A hop in each direction.
    #[must_use]
    pub fn wire(self, a: impl Into<Place>, b: impl Into<Place>, hop: impl Into<Hop>) -> Self {
        let (a, b, hop) = (a.into(), b.into(), hop.into());
        self.hop(a, b, hop).hop(b, a, hop)
    }
    /// A radio medium; the n-th one's air is `Place::Medium(n)`.
    #[must_use]
    pub fn medium(mut self, medium: Medium) -> Self {
        self.media.push(medium);
        self
    }
    /// Of each medium whose nodes move: the hosts that its nodes are, and who could hear whom.
    pub(crate) fn contacts(&self) -> Vec<(Vec<Host>, Contacts)> {
        let moving = self.media.iter().zip(0..);
        let moving =
            moving.filter_map(|(medium, number)| Some((medium, number, medium.mobility()?)));
        let contacts = moving.filter_map(|(medium, number, reach)| {
            let host = |place: &Place| match place {
                Place::Host(host) => Some(*host),
                _ => None,
            };
            let hosts: Option<Vec<Host>> = medium.places().iter().map(host).collect();
            let seed = medium_seed(self.seed, number);
            let path_loss = reach.path_loss(medium.places().len(), seed, self.limit);
            Some((hosts?, Contacts::new(&path_loss, reach)))
        });
        contacts.collect()
    }
    /// What reports call a place.
    #[must_use]
    pub fn labelled(mut self, place: impl Into<Place>, label: &str) -> Self {
        self.labels.insert(place.into(), label.to_owned());
        self
    }
    /// Whether a hop or a medium leads to a place.
    pub(crate) fn reaches(&self, place: Place) -> bool {
        self.hops.iter().any(|edge| edge.to == place)
            || self.media.iter().any(|medium| medium.edges(0).any(|edge| edge.to == place))
    }
    /// In an emulation, packets of a multicast group go only where a host has joined it.
    #[must_use]
    pub fn pruned(mut self, pruned: bool) -> Self {
        self.pruned = pruned;
        self
    }
    /// How long the network takes to learn who is in a group. Default at once.
    #[must_use]
    pub fn membership(mut self, latency: MembershipLatency) -> Self {
        self.membership = latency;
        self
    }
    /// A background flow. It needs a topology.
    #[must_use]
    pub fn flow(mut self, flow: Flow) -> Self {
        self.flows.push(flow);
        self
    }
    /// A layered session. It needs a topology.
    #[must_use]
    pub fn layered(mut self, flow: LayeredFlow) -> Self {
        self.layered.push(flow);
        self
    }
    /// Percentiles of queueing delay count from this time on, so that a slow start can be left out.
    #[must_use]
    pub fn warm_up(mut self, until: Duration) -> Self {
        self.warm_up = until;
        self
    }
}
