//! Forwarding from one group into another: which messages wait, and when each goes.

use super::{
    ForwardedMessage, GatewayConfig, GatewayStats, IncomingMessage, Route,
    election::{Election, PathRank},
    queue::{Queue, QueuedMessage},
};
use crate::{
    description::{Description, Options},
    origin::{Identity, Origin},
    repair::token_bucket::TokenBucket,
};
use alloc::collections::{BTreeMap, VecDeque};
use fanfare_proto::{Duration, NodeId, Time, rng::Rng};

/// Gateways that a message may pass: more in a row nobody joins, and whatever goes round ends.
const HOPS_MAX: u8 = 8;
/// Gateways that bring something here whose ways are told apart.
const LEADS_MAX: usize = 64;
/// Messages carried of which it is remembered by which way they had come: copies of others are heard
/// soon after.
const CARRIED_MAX: usize = 1024;
/// What a message costs beside its content, about: headers of UDP, NORM and its description.
const OVERHEAD: u64 = 100;

/// One direction.
#[derive(Debug)]
pub(super) struct Direction<B> {
    pub(super) route: Route,
    /// Its node's id where it comes out.
    node: NodeId,
    standby: Duration,
    /// Until then it learns what is there.
    pub(super) not_before: Time,
    budget: TokenBucket,
    /// By who brings it to where it comes from: its publisher, or which gateway.
    is_elected: BTreeMap<Option<NodeId>, Election>,
    waiting: Queue<B>,
    arrivals: u64,
    /// What it has carried lately, who had brought it, and its hops.
    carried: BTreeMap<Identity, (Option<NodeId>, u8)>,
    carried_order: VecDeque<Identity>,
    pub(super) stats: GatewayStats,
}

impl<B> Direction<B> {
    pub(super) fn new(now: Time, route: Route, node: NodeId, config: GatewayConfig) -> Self {
        let GatewayConfig { standby, learning, queue_messages, queue_bytes } = config;
        Self {
            budget: TokenBucket::new(now, route.rate),
            route,
            node,
            standby,
            not_before: now + learning,
            is_elected: BTreeMap::new(),
            waiting: Queue::new(queue_messages, queue_bytes),
            arrivals: 0,
            carried: BTreeMap::new(),
            carried_order: VecDeque::new(),
            stats: GatewayStats::default(),
        }
    }

    fn election(&mut self, entry: Option<NodeId>, hops: u8, rng: &mut Rng) -> &mut Election {
        if self.is_elected.len() >= LEADS_MAX && !self.is_elected.contains_key(&entry) {
            // Of whom nothing waits: it is learned again. The direct way, for what no gateway brought, stays.
            let idle = self.is_elected.keys().find(|way| way.is_some() && !self.waiting.has(**way));
            let idle = idle.or_else(|| self.is_elected.keys().find(|way| way.is_some())).copied();
            idle.map(|idle| self.is_elected.remove(&idle));
        }
        let standby = self.standby;
        self.is_elected.entry(entry).or_insert_with(|| Election::new(standby, hops, rng))
    }

    /// A message has come to where the direction begins, and is not where it ends.
    pub(super) fn on_message(
        &mut self,
        now: Time,
        identity: &Identity,
        heard: IncomingMessage<'_, B>,
        rng: &mut Rng,
    ) {
        let description = heard.description;
        if !self.route.filters.iter().any(|filter| filter.matches(&description.topic)) {
            return;
        }
        self.stats.heard += 1;
        let hops = description.options.origin.map_or(0, |origin| origin.hops);
        if hops >= HOPS_MAX {
            self.stats.too_far += 1;
            return;
        }
        let entry = description.options.origin.map(|_| heard.key.sender);
        self.election(entry, hops, rng);
        let Identity { node, instance, number, .. } = *identity;
        let origin = Origin { node, instance, number, hops: hops + 1 };
        self.arrivals += 1;
        let description = description.clone();
        let waiting = QueuedMessage {
            came: now,
            age: heard.age,
            description,
            origin,
            size: heard.size,
            body: heard.body,
            entry,
            order: self.arrivals,
        };
        self.stats.replaced += self.waiting.replace(&waiting);
        self.stats.replaced += u64::from(self.waiting.insert(identity, waiting));
        while self.waiting.is_full() && self.waiting.drop_least() {
            self.stats.dropped += 1;
        }
    }

    /// A message is where the direction ends; `by`: another gateway brought it by this way.
    pub(super) fn on_there(&mut self, now: Time, identity: &Identity, by: Option<PathRank>) {
        let waited =
            self.waiting.take(identity).map(|waiting| (waiting.entry, waiting.origin.hops));
        self.stats.left += u64::from(waited.is_some());
        let Some(theirs) = by else { return };
        let carried = self.carried.get(identity).copied();
        self.stats.doubled += u64::from(carried.is_some());
        if let Some((entry, hops)) = waited.or(carried)
            && let Some(election) = self.is_elected.get_mut(&entry)
        {
            election.on_copy(now, theirs, (hops, self.node));
        }
    }

    fn due(&self, waiting: &QueuedMessage<B>) -> Time {
        let election = self.is_elected.get(&waiting.entry);
        let came = waiting.came.max(self.not_before);
        election.map_or(came, |election| election.due(came))
    }

    /// What goes now: of what is due the highest priority, and of equals the first.
    pub(super) fn poll(&mut self, now: Time) -> Option<(Identity, ForwardedMessage<B>)> {
        while self.budget.allows(now) {
            let heads = self.waiting.heads();
            let due = heads.into_iter().find(|(_, waiting)| self.due(waiting) <= now);
            let identity = due?.0.clone();
            let waiting = self.waiting.take(&identity)?;
            let age = waiting.age + now.since(waiting.came);
            let expiry = waiting.description.options.expiry;
            if expiry.is_some_and(|expiry| expiry <= age) {
                self.stats.expired += 1;
                continue;
            }
            let bytes = waiting.size + OVERHEAD;
            self.budget.on_sent(usize::try_from(bytes).unwrap_or(usize::MAX));
            self.remember(&identity, &waiting);
            if let Some(election) = self.is_elected.get_mut(&waiting.entry) {
                election.on_carried();
            }
            self.stats.carried += 1;
            self.stats.bytes += waiting.size;
            let expiry = expiry.map(|expiry| expiry.saturating_sub(age));
            let Description { topic, options, content, .. } = waiting.description;
            let options = Options { expiry, origin: Some(waiting.origin), ..options };
            let Route { from, to, .. } = self.route;
            let (size, body) = (waiting.size, waiting.body);
            return Some((
                identity,
                ForwardedMessage { from, to, topic, options, size, content, body },
            ));
        }
        None
    }

    fn remember(&mut self, identity: &Identity, waiting: &QueuedMessage<B>) {
        if self.carried.len() >= CARRIED_MAX
            && let Some(first) = self.carried_order.pop_front()
        {
            self.carried.remove(&first);
        }
        let way = (waiting.entry, waiting.origin.hops);
        if self.carried.insert(identity.clone(), way).is_none() {
            self.carried_order.push_back(identity.clone());
        }
    }

    /// When something may go.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        let heads = self.waiting.heads();
        let due = heads.into_iter().map(|(_, waiting)| self.due(waiting)).min()?;
        Some(due.max(self.budget.next()))
    }

    /// Messages that wait.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}
