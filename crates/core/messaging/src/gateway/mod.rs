//! A gateway: a node in two or more groups that publishes each message of one group once in the
//! others.
//!
//! The driver passes it every message of each group, also those that other gateways forwarded there
//! ([`Gateway::on_message`]). It says what to publish where ([`Gateway::poll`]). A message keeps
//! its identity on the way ([`crate::Origin`]). A message that is in a group already is not
//! forwarded there again, whichever way it came, so rings of groups have no loops. The gateway's
//! nodes hear their own messages ([`crate::GroupConfig::hears_itself`]): those that they forwarded
//! before a restart, and those that others publish through them.
//!
//! - `direction`: from one group into another; `queue`: what waits there; `election`: which of
//!   several gateways forwards

mod direction;
mod election;
mod queue;
#[cfg(test)]
mod tests;

use crate::{
    description::{Description, Options},
    origin::Known,
    subscription::Subscription,
    topic::{Filter, Topic},
};
use alloc::vec::Vec;
use direction::Direction;
use fanfare_proto::{Bitrate, Duration, NodeId, ObjectKey, Time, rng::Rng};

/// A gateway that begins learns for at most so many times its time: others that go on carrying do not
/// keep it from standing by.
const LEARNING_MAX: u32 = 4;

/// One of the groups that a gateway joins: its place among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupIndex(pub u8);

/// What is carried from one group into another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// From where.
    pub from: GroupIndex,
    /// Into which.
    pub to: GroupIndex,
    /// Messages of which topics: those that fit one of them.
    pub filters: Vec<Filter>,
    /// Most that it takes of the group that it comes out in.
    pub rate: Bitrate,
}

/// Messages that wait in one direction unless said otherwise: a burst of short ones goes at the rate, however
/// long that takes.
const QUEUE_MESSAGES: usize = 100_000;
/// Their bytes: what a node keeps for others by default.
const QUEUE_BYTES: u64 = 64 << 20;

/// Times of a gateway, and how much may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayConfig {
    /// How long to leave a message to another gateway between the same groups, at least; longer than a
    /// message takes through a group. Only who has carried goes first without waiting. Default 1 s.
    pub standby: Duration,
    /// Nothing is carried for so long after the start, and longer while it still hears what other
    /// gateways have carried, but at most four times as long: what is in the groups already is to be
    /// known first. Default 20 s: in a quiet group it takes a few announcements and questions until a
    /// newcomer has what is there, of publishers that are gone 12 s where it was measured.
    pub learning: Duration,
    /// Most messages that wait each way. Of more than that the lowest priority gives way, and of equals the
    /// newest. Default 100,000.
    pub queue_messages: usize,
    /// Most bytes of messages that wait each way. Default 64 MiB.
    pub queue_bytes: u64,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            standby: Duration::from_secs(1),
            learning: Duration::from_secs(20),
            queue_messages: QUEUE_MESSAGES,
            queue_bytes: QUEUE_BYTES,
        }
    }
}

/// What has come of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GatewayStats {
    /// Messages that came for the other group, and were not there: the sum of those carried, left, expired,
    /// replaced, dropped, too far and waiting.
    pub heard: u64,
    /// Messages carried.
    pub carried: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that waited and that another gateway brought first.
    pub left: u64,
    /// Messages carried that another gateway carried, too.
    pub doubled: u64,
    /// Messages that had expired before they could go.
    pub expired: u64,
    /// Messages whose place a newer one took before they could go.
    pub replaced: u64,
    /// Messages not kept because too much waits.
    pub dropped: u64,
    /// Messages that had passed too many gateways.
    pub too_far: u64,
    /// Of what is remembered of messages in the group that it comes out in, runs forgotten because there
    /// are too many.
    pub forgotten: u64,
    /// Messages that wait now.
    pub waiting: u64,
}

/// A message in one of the groups, as its driver tells it.
#[derive(Debug, Clone, Copy)]
pub struct IncomingMessage<'a, B> {
    /// Its object there.
    pub key: ObjectKey,
    /// Bytes of the message.
    pub size: u64,
    /// How long ago it was first heard of there ([`crate::GroupNode::age`]).
    pub age: Duration,
    /// What it says of itself.
    pub description: &'a Description,
    /// Where its bytes are, for the driver.
    pub body: B,
}

/// A message that is to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardedMessage<B> {
    /// Where it was heard.
    pub from: GroupIndex,
    /// Where it is to be published.
    pub to: GroupIndex,
    /// About what.
    pub topic: Topic,
    /// With what: its origin is among it, and what is left of its expiry.
    pub options: Options,
    /// Bytes of the message.
    pub size: u64,
    /// The message itself, when it came in its description.
    pub content: Option<Vec<u8>>,
    /// Where its bytes are, for the driver.
    pub body: B,
}

/// The machine.
#[derive(Debug)]
pub struct Gateway<B> {
    /// Its id in each group.
    nodes: Vec<NodeId>,
    /// What is in each.
    present: Vec<Known>,
    directions: Vec<Direction<B>>,
    learning: Duration,
    /// Until when it learns, and at most.
    learns_until: Time,
    learns_at_most: Time,
    /// The direction that is asked next.
    turn: usize,
    rng: Rng,
}

impl<B: Clone> Gateway<B> {
    /// Begins at `now` in groups in which it has the ids `nodes`; routes from or to other sides, or from a
    /// side to itself, are left out. All its chance comes from `seed`.
    #[must_use]
    pub fn new(
        now: Time,
        nodes: &[NodeId],
        routes: Vec<Route>,
        config: GatewayConfig,
        seed: u64,
    ) -> Self {
        let learns_until = now + config.learning;
        let node = |side: GroupIndex| nodes.get(usize::from(side.0)).copied();
        let directions = routes.into_iter().filter_map(|route| {
            node(route.from).filter(|_| route.from != route.to)?;
            Some(Direction::new(now, route.clone(), node(route.to)?, config))
        });
        Self {
            directions: directions.collect(),
            present: nodes.iter().map(|_| Known::default()).collect(),
            nodes: nodes.to_vec(),
            learning: config.learning,
            learns_until,
            learns_at_most: now + config.learning * LEARNING_MAX,
            turn: 0,
            rng: Rng::new(seed ^ 0x6761_7465_7761_7900),
        }
    }

    /// What its node in a group has to subscribe to: what it carries from there, and what it brings
    /// there, so that it knows what others have brought.
    #[must_use]
    pub fn subscriptions(&self, side: GroupIndex) -> Vec<Subscription> {
        let routes = self.directions.iter().map(|direction| &direction.route);
        let concerned = routes.filter(|route| route.from == side || route.to == side);
        let mut filters: Vec<&Filter> = Vec::new();
        for filter in concerned.flat_map(|route| &route.filters) {
            if !filters.contains(&filter) {
                filters.push(filter);
            }
        }
        let all =
            |filter: &Filter| Subscription { copies: true, ..Subscription::new(filter.clone()) };
        filters.into_iter().map(all).collect()
    }

    /// A message was delivered in a group.
    pub fn on_message(&mut self, now: Time, side: GroupIndex, heard: IncomingMessage<'_, B>) {
        let place = usize::from(side.0);
        let (Some(node), Some(present)) = (self.nodes.get(place), self.present.get_mut(place))
        else {
            return;
        };
        let identity = heard.description.identity(heard.key);
        let new = present.insert(&identity, 1);
        let origin = heard.description.options.origin;
        // A copy that it has brought, not what an application on its node says.
        let own = origin.is_some() && heard.key.sender == *node;
        if new && !own && origin.is_some() && now < self.learns_until {
            self.learns_until = (now + self.learning).min(self.learns_at_most);
            let until = self.learns_until;
            self.directions.iter_mut().for_each(|direction| direction.not_before = until);
        }
        let by = origin.filter(|_| !own).map(|origin| (origin.hops, heard.key.sender));
        for direction in self.directions.iter_mut().filter(|direction| direction.route.to == side) {
            direction.on_there(now, &identity, by);
        }
        // What it brought itself, perhaps before a restart, came from where it is still told of.
        if !new || own {
            return;
        }
        for direction in &mut self.directions {
            let there = self.present.get(usize::from(direction.route.to.0));
            let lacks = there.is_some_and(|there| !there.contains(&identity, 1));
            if direction.route.from == side && lacks {
                direction.on_message(now, &identity, heard.clone(), &mut self.rng);
            }
        }
    }

    /// What is to be published now, in a group that has room for it.
    pub fn poll(
        &mut self,
        now: Time,
        has_room: impl Fn(GroupIndex) -> bool,
    ) -> Option<ForwardedMessage<B>> {
        let count = self.directions.len();
        for step in 0..count {
            let number = (self.turn + step) % count;
            let direction = &mut self.directions[number];
            if !has_room(direction.route.to) {
                continue;
            }
            let Some((identity, crossing)) = direction.poll(now) else { continue };
            self.turn = number + 1;
            if let Some(present) = self.present.get_mut(usize::from(crossing.to.0)) {
                present.insert(&identity, 1);
            }
            for direction in &mut self.directions {
                if direction.route.to == crossing.to {
                    direction.on_there(now, &identity, None);
                }
            }
            return Some(crossing);
        }
        None
    }

    /// When to call [`Self::poll`] next.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        self.directions.iter().filter_map(Direction::next_timeout).min()
    }

    /// What came of messages from one group into another.
    #[must_use]
    pub fn stats(&self, from: GroupIndex, to: GroupIndex) -> GatewayStats {
        let route =
            |direction: &&Direction<B>| (direction.route.from, direction.route.to) == (from, to);
        let Some(direction) = self.directions.iter().find(route) else {
            return GatewayStats::default();
        };
        let forgotten = self.present.get(usize::from(to.0)).map_or(0, Known::forgotten);
        GatewayStats { forgotten, waiting: direction.waiting(), ..direction.stats }
    }
}
