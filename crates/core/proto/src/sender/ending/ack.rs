//! The watermark: asks named receivers to acknowledge everything up to a point (RFC 5740 5.5.3).

use crate::{
    event::WatermarkOutcome,
    time::{Duration, Time},
};
use alloc::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    vec::Vec,
};
use fanfare_wire::{FecPayloadId, NodeId, ObjectTransportId};

/// A node at work is asked again only after so long: it reports no more often.
const ASK_AT_WORK: Duration = Duration::from_secs(1);
/// Who has not answered any of the first requests is asked again after so long: a cable may be out.
const ASK_SILENT: Duration = Duration::from_millis(500);
/// A report of work is good for so long: several of them may be lost.
const AT_WORK: Duration = Duration::from_secs(5);

/// A node whose name is used at two addresses is asked on for so long, as either may be the true one: its
/// true address is believed a few seconds after the other has fallen silent (`SILENCE` of
/// `bound_address`). An attacker alone does not hold up an end for longer.
const CONTESTED: Duration = Duration::from_secs(30);

/// The point to be acknowledged: the last symbol of an object, or a symbol of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sender) struct Point {
    /// Ordinal of the object.
    pub(in crate::sender) ordinal: u64,
    pub(in crate::sender) object: ObjectTransportId,
    /// As it travels: block numbers of streams wrap.
    pub(in crate::sender) id: FecPayloadId,
    /// Of a stream, so many symbols are to be acknowledged; else 0.
    pub(in crate::sender) until: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    /// Asked for `attempts` times since it last showed itself at work.
    Pending {
        attempts: u32,
        /// Requests before this time do not count: the node has said that it is at work.
        answerable_from: Time,
        /// It is not asked before.
        ask: Time,
        /// When it was asked first.
        asked: Option<Time>,
        /// When it was asked first of the requests that have gone unanswered.
        unanswered: Option<Time>,
    },
    Settled(WatermarkOutcome),
}

impl Node {
    const NEW: Self = Self::Pending {
        attempts: 0,
        answerable_from: Time::ZERO,
        ask: Time::ZERO,
        asked: None,
        unanswered: None,
    };

    /// When it may be given up, if it has been asked `robust` times for nothing.
    fn given_up_from(&self, robust: u32, patience: Duration) -> Option<Time> {
        match self {
            Self::Pending { attempts, unanswered, .. } if *attempts >= robust => {
                Some(unanswered.map_or(Time::ZERO, |since| since + patience))
            }
            Self::Pending { .. } | Self::Settled(_) => None,
        }
    }
}

/// Who is polled so much too late did not run. A slow radio makes a sender wait for a second or two
/// between messages.
const PAUSE_MIN: Duration = Duration::from_secs(5);

/// The watermark machine.
#[derive(Debug)]
pub(in crate::sender) struct Watermark {
    robust: u32,
    /// For how long silence is borne at least.
    patience: Duration,
    point: Option<Point>,
    nodes: BTreeMap<NodeId, Node>,
    /// Nodes asked whose feedback came from an address that is not believed, and since when.
    contested: BTreeMap<NodeId, Time>,
    /// To be asked with the next watermark.
    waiting: BTreeSet<NodeId>,
    next: Time,
    /// When it was polled last.
    polled: Time,
    /// The last node asked: lists that do not fit go round.
    asked_last: NodeId,
    /// The end has been told.
    told: bool,
}

impl Watermark {
    /// Each node is asked `robust` times (NORM_ROBUST_FACTOR; at least 1), and on until it has been
    /// silent for `patience`.
    pub(in crate::sender) fn new(robust: u32, patience: Duration) -> Self {
        Self {
            robust: robust.max(1),
            patience,
            point: None,
            nodes: BTreeMap::new(),
            contested: BTreeMap::new(),
            waiting: BTreeSet::new(),
            next: Time::ZERO,
            polled: Time::ZERO,
            asked_last: NodeId::NONE,
            told: true,
        }
    }

    /// Each node is asked so often from now on.
    pub(in crate::sender) fn set_robust(&mut self, robust: u32) {
        self.robust = robust.max(1);
    }

    /// Begins a watermark at `point`, replacing the one under way. Without a point (nothing was
    /// enqueued) the nodes wait for the next one.
    pub(in crate::sender) fn set(&mut self, now: Time, point: Option<Point>, nodes: &[NodeId]) {
        self.waiting.extend(nodes);
        self.point = point;
        self.nodes.clear();
        self.contested.clear();
        self.told = true;
        if self.point.is_some() {
            let pending = |node| (node, Node::NEW);
            self.nodes = core::mem::take(&mut self.waiting).into_iter().map(pending).collect();
            (self.next, self.told) = (now, self.nodes.is_empty());
        }
    }

    /// Asks one more node; a watermark that had ended is open again.
    pub(in crate::sender) fn add(&mut self, now: Time, node: NodeId) {
        if self.point.is_none() {
            self.waiting.insert(node);
        } else if let Entry::Vacant(place) = self.nodes.entry(node) {
            place.insert(Node::NEW);
            self.next = self.next.max(now);
            self.told = false;
        }
    }

    /// No longer asks `node`.
    pub(in crate::sender) fn remove(&mut self, node: NodeId) {
        self.waiting.remove(&node);
        self.nodes.remove(&node);
    }

    /// The point, while nodes are still asked.
    pub(in crate::sender) fn point(&self) -> Option<Point> {
        self.point.filter(|_| self.is_pending())
    }

    /// The point of the last watermark, under way or not.
    pub(in crate::sender) fn last_point(&self) -> Option<Point> {
        self.point
    }

    /// Whether `node` was asked and need not be any more.
    pub(in crate::sender) fn is_settled(&self, node: NodeId) -> bool {
        matches!(self.nodes.get(&node), Some(Node::Settled(_)))
    }

    /// Whether `node` has acknowledged the point.
    pub(in crate::sender) fn has_acknowledged(&self, node: NodeId) -> bool {
        self.nodes.get(&node) == Some(&Node::Settled(WatermarkOutcome::Acknowledged))
    }

    /// Whether `node` is, or was, asked.
    pub(in crate::sender) fn has(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }

    /// Who has yet to acknowledge.
    pub(in crate::sender) fn pending(&self) -> impl Iterator<Item = NodeId> {
        let pending = |(node, state): (&NodeId, &Node)| {
            matches!(state, Node::Pending { .. }).then_some(*node)
        };
        self.nodes.iter().filter_map(pending)
    }

    fn is_pending(&self) -> bool {
        self.nodes.values().any(|node| matches!(node, Node::Pending { .. }))
    }

    /// Whether the end, if there was a watermark, has been told.
    pub(in crate::sender) fn is_done(&self) -> bool {
        self.told
    }

    /// When the next request is due, once the sender is past the point.
    pub(in crate::sender) fn due_at(&self) -> Option<Time> {
        self.is_pending().then_some(self.next)
    }

    /// A request is due: the nodes to name in it, at most `fit`; none when all are at work and were
    /// asked lately. Before `answerable_from` receivers may be unable to answer: it does not count.
    pub(in crate::sender) fn on_flushed(
        &mut self,
        now: Time,
        interval: Duration,
        fit: usize,
        answerable_from: Time,
    ) -> Vec<NodeId> {
        let (robust, patience) = (self.robust, self.patience);
        let open = |(node, state): (&NodeId, &Node)| match state {
            Node::Pending { ask, .. } if *ask <= now => {
                let given_up = state.given_up_from(robust, patience);
                given_up.is_none_or(|from| now < from).then_some(*node)
            }
            Node::Pending { .. } | Node::Settled(_) => None,
        };
        let all: Vec<NodeId> = self.nodes.iter().filter_map(open).collect();
        let start = all.partition_point(|node| *node <= self.asked_last);
        let named: Vec<NodeId> =
            all[start..].iter().chain(&all[..start]).take(fit.max(1)).copied().collect();
        for node in &named {
            let state = self.nodes.get_mut(node);
            if let Some(Node::Pending { attempts, answerable_from: own, ask, asked, unanswered }) =
                state
            {
                if now >= answerable_from.max(*own) {
                    *attempts = attempts.saturating_add(1);
                    let since = *unanswered.get_or_insert(now);
                    if *attempts >= robust && now < since + patience {
                        *ask = now + ASK_SILENT;
                    }
                } else if now < *own {
                    *ask = now + ASK_AT_WORK;
                }
                asked.get_or_insert(now);
            }
        }
        self.next = (now + interval).max(self.next_ask().unwrap_or(now));
        if let Some(last) = named.last() {
            self.asked_last = *last;
        }
        named
    }

    /// When the first of those still asked may be asked next.
    fn next_ask(&self) -> Option<Time> {
        let ask = |node: &Node| match node {
            Node::Pending { ask, .. } => Some(*ask),
            Node::Settled(_) => None,
        };
        self.nodes.values().filter_map(ask).min()
    }

    /// An ACK(FLUSH). True when it is the node's first for this watermark. NRL's receivers send
    /// back the position as it was asked.
    pub(in crate::sender) fn on_ack(
        &mut self,
        node: NodeId,
        object: ObjectTransportId,
        id: FecPayloadId,
    ) -> bool {
        let position = |id: FecPayloadId| (id.block, id.symbol);
        let matches =
            self.point.is_some_and(|p| p.object == object && position(p.id) == position(id));
        let Some(state) = self.nodes.get_mut(&node).filter(|_| matches) else { return false };
        let acknowledged = Node::Settled(WatermarkOutcome::Acknowledged);
        core::mem::replace(state, acknowledged) != acknowledged
    }

    /// The node shows that it is at work: it may be asked the whole number of times again.
    pub(in crate::sender) fn on_alive(&mut self, node: NodeId) {
        if let Some(Node::Pending { attempts, ask, unanswered, .. }) = self.nodes.get_mut(&node) {
            (*attempts, *ask, *unanswered) = (0, Time::ZERO, None);
        }
    }

    /// Somebody speaks in the node's name at an address that is not believed. It may be the node: then it is at
    /// work, and is asked on for some time.
    pub(in crate::sender) fn on_contested(&mut self, now: Time, node: NodeId) {
        if matches!(self.nodes.get(&node), Some(Node::Pending { .. })) {
            let since = *self.contested.entry(node).or_insert(now);
            if now.since(since) < CONTESTED {
                self.on_alive(node);
            }
        }
    }

    /// The node says that it has everything but is still at work on it. It says so once a second at
    /// most (`receiver` of fanfare-proto), which is longer than all requests take at a short GRTT. What
    /// it has said before it can have been asked, at least `rtt` there and back, answers the roll.
    pub(in crate::sender) fn on_status(&mut self, now: Time, node: NodeId, rtt: Duration) {
        let Some(Node::Pending { attempts, answerable_from, ask, asked, unanswered }) =
            self.nodes.get_mut(&node)
        else {
            return;
        };
        if asked.is_some_and(|asked| asked + rtt <= now) {
            (*attempts, *answerable_from, *ask) = (0, now + AT_WORK, now + ASK_AT_WORK);
            *unanswered = None;
        }
    }

    /// Repairs of `ordinal` begin: receivers up to the point have a reason not to answer yet.
    pub(in crate::sender) fn on_rewind(&mut self, ordinal: u64) {
        if self.point.is_some_and(|point| ordinal <= point.ordinal) {
            for node in self.nodes.values_mut() {
                if let Node::Pending { attempts, unanswered, .. } = node {
                    (*attempts, *unanswered) = (0, None);
                }
            }
        }
    }

    /// Gives up nodes whose last request has gone unanswered, when patience is over.
    pub(in crate::sender) fn poll(&mut self, now: Time) {
        self.bear_own_pause(now);
        if now < self.next {
            return;
        }
        let (robust, patience) = (self.robust, self.patience);
        for state in self.nodes.values_mut() {
            if state.given_up_from(robust, patience).is_some_and(|from| from <= now) {
                *state = Node::Settled(WatermarkOutcome::Unanswered);
            }
        }
    }

    /// A sender that is polled late did not run: its disk was busy, or it was stopped. It has not asked
    /// anybody in that time, so that nobody has been silent.
    fn bear_own_pause(&mut self, now: Time) {
        let pause = now.since(self.next.max(self.polled));
        self.polled = now;
        if pause < PAUSE_MIN {
            return;
        }
        for state in self.nodes.values_mut() {
            if let Node::Pending { unanswered: Some(since), .. } = state {
                *since = (*since + pause).min(now);
            }
        }
    }

    /// How it ended for each node; once.
    pub(in crate::sender) fn poll_done(&mut self) -> Option<Vec<(NodeId, WatermarkOutcome)>> {
        if self.told || self.is_pending() {
            return None;
        }
        self.told = true;
        let outcome = |(node, state): (&NodeId, &Node)| match state {
            Node::Settled(outcome) => Some((*node, *outcome)),
            Node::Pending { .. } => None,
        };
        Some(self.nodes.iter().filter_map(outcome).collect())
    }

    /// When [`Self::poll`] and [`Self::poll_done`] have something to say.
    pub(in crate::sender) fn next_timeout(&self) -> Option<Time> {
        if !self.told && !self.is_pending() {
            return Some(Time::ZERO);
        }
        let given_up = |node: &Node| node.given_up_from(self.robust, self.patience);
        self.nodes.values().filter_map(given_up).min().map(|from| from.max(self.next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::{EncodingSymbolId, SourceBlockNumber};

    const INTERVAL: Duration = Duration::from_millis(20);
    const OBJECT: ObjectTransportId = ObjectTransportId(5);

    fn id(symbol: u16) -> FecPayloadId {
        let (block, symbol) = (SourceBlockNumber(2), EncodingSymbolId(symbol));
        FecPayloadId { block, block_len: 4, symbol }
    }

    fn watermark(nodes: &[u32]) -> Watermark {
        let mut watermark = Watermark::new(3, Duration::ZERO);
        let nodes: Vec<NodeId> = nodes.iter().map(|n| NodeId(*n)).collect();
        let point = Point { ordinal: 9, object: OBJECT, id: id(3), until: 0 };
        watermark.set(Time::ZERO, Some(point), &nodes);
        watermark
    }

    /// Asks until nobody is to be asked, `fit` at a time.
    fn exhaust(watermark: &mut Watermark, fit: usize) -> Vec<Vec<NodeId>> {
        let mut rounds = Vec::new();
        while let Some(now) = watermark.due_at() {
            watermark.poll(now);
            if watermark.due_at().is_some() {
                rounds.push(watermark.on_flushed(now, INTERVAL, fit, Time::ZERO));
            }
        }
        rounds
    }

    #[test]
    fn only_an_acknowledgement_of_exactly_the_watermark_counts() {
        let mut watermark = watermark(&[7]);
        assert!(!watermark.on_ack(NodeId(7), OBJECT.next(), id(3)));
        assert!(!watermark.on_ack(NodeId(7), OBJECT, id(2)));
        assert!(!watermark.on_ack(NodeId(8), OBJECT, id(3)));
        assert!(watermark.on_ack(NodeId(7), OBJECT, FecPayloadId { block_len: 0, ..id(3) }));
        assert!(!watermark.on_ack(NodeId(7), OBJECT, id(3)), "it has already");
        let outcomes = alloc::vec![(NodeId(7), WatermarkOutcome::Acknowledged)];
        assert_eq!(watermark.poll_done(), Some(outcomes));
        assert_eq!((watermark.poll_done(), watermark.is_done()), (None, true));
    }

    #[test]
    fn a_silent_node_is_asked_robust_factor_times_and_then_given_up() {
        let mut watermark = watermark(&[7]);
        assert_eq!(exhaust(&mut watermark, 10).len(), 3);
        let outcomes = watermark.poll_done().unwrap();
        assert_eq!(outcomes, [(NodeId(7), WatermarkOutcome::Unanswered)]);
    }

    #[test]
    fn a_node_in_whose_name_somebody_speaks_elsewhere_is_asked_on_for_half_a_minute() {
        let mut watermark = watermark(&[7]);
        let (mut now, mut ended) = (Time::ZERO, None);
        while ended.is_none() {
            watermark.on_contested(now, NodeId(7));
            watermark.poll(now);
            watermark.on_flushed(now, INTERVAL, 10, Time::ZERO);
            now = now + INTERVAL;
            ended = watermark.poll_done();
        }
        let asked_on = now.since(Time::ZERO);
        assert!((CONTESTED..CONTESTED + INTERVAL * 6).contains(&asked_on), "{asked_on:?}");
        let mut settled = self::watermark(&[7]);
        assert!(settled.on_ack(NodeId(7), OBJECT, id(3)));
        settled.on_contested(Time::ZERO, NodeId(7));
        assert!(settled.has_acknowledged(NodeId(7)));
    }

    #[test]
    fn a_silent_node_is_asked_on_until_patience_is_over() {
        let mut watermark = watermark(&[7]);
        watermark.patience = Duration::from_secs(10);
        // Three requests at the pace of the GRTT, then two in a second.
        assert_eq!(exhaust(&mut watermark, 10).len(), 3 + 19);
        assert_eq!(watermark.poll_done().unwrap(), [(NodeId(7), WatermarkOutcome::Unanswered)]);
    }

    #[test]
    fn a_node_that_is_back_before_patience_is_over_has_all_of_it_again() {
        let mut watermark = watermark(&[7]);
        watermark.patience = Duration::from_secs(10);
        let mut asked = 0;
        while let Some(now) = watermark.due_at() {
            watermark.poll(now);
            asked += watermark.on_flushed(now, INTERVAL, 1, Time::ZERO).len();
            if asked == 15 {
                watermark.on_alive(NodeId(7));
            }
        }
        assert_eq!(asked, 15 + 3 + 19);
    }

    #[test]
    fn a_pause_of_the_sender_takes_nothing_of_a_nodes_patience() {
        let (at, patience) =
            (|s: u64| Time::from_nanos(s * 1_000_000_000), Duration::from_secs(30));
        for (paused, given_up) in [(false, 30), (true, 51)] {
            let mut watermark = watermark(&[7]);
            watermark.patience = patience;
            let seconds = (0..100).filter(|second| !paused || !(5..25).contains(second));
            let last = seconds.map(at).find(|now| {
                watermark.poll(*now);
                watermark.on_flushed(*now, INTERVAL, 1, Time::ZERO);
                watermark.poll_done().is_some()
            });
            assert_eq!(last, Some(at(given_up)), "paused: {paused}");
        }
    }

    #[test]
    fn a_request_that_could_not_be_answered_does_not_count() {
        let mut watermark = watermark(&[7]);
        for _ in 0..10 {
            watermark.on_flushed(Time::ZERO, INTERVAL, 1, Time::ZERO + INTERVAL);
        }
        assert_eq!(exhaust(&mut watermark, 1).len(), 3);
    }

    #[test]
    fn a_list_that_does_not_fit_is_sent_in_turns() {
        let mut watermark = watermark(&[1, 2, 3, 4, 5]);
        let rounds = exhaust(&mut watermark, 2);
        assert_eq!(rounds[1], [NodeId(3), NodeId(4)]);
        assert_eq!(rounds[2], [NodeId(5), NodeId(1)]);
        assert_eq!(rounds.iter().map(Vec::len).sum::<usize>(), 15);
    }

    #[test]
    fn a_busy_node_and_a_rewind_reset_the_attempts() {
        let mut watermark = watermark(&[7, 8]);
        watermark.on_flushed(Time::ZERO, INTERVAL, 10, Time::ZERO);
        watermark.on_alive(NodeId(7));
        assert_eq!(exhaust(&mut watermark, 1).len(), 5);
        let mut rewound = self::watermark(&[7]);
        rewound.on_flushed(Time::ZERO, INTERVAL, 10, Time::ZERO);
        rewound.on_rewind(10);
        rewound.on_rewind(9);
        assert_eq!(exhaust(&mut rewound, 1).len(), 3);
    }

    /// Lets a node report that it is at work when it is asked, as long as `reports` says so; how
    /// often it was asked, until it is asked no more or 60 s have passed.
    fn asked_while(reports: impl Fn(Time) -> bool) -> u32 {
        let (mut watermark, mut asked) = (watermark(&[7]), 0);
        while let Some(now) = watermark.due_at().filter(|now| *now < Time::ZERO + AT_WORK * 12) {
            watermark.poll(now);
            let named = watermark.on_flushed(now, INTERVAL, 10, Time::ZERO).len() as u32;
            asked += named;
            if named > 0 && reports(now) {
                watermark.on_status(now, NodeId(7), Duration::ZERO);
            }
        }
        asked
    }

    #[test]
    fn a_busy_node_is_asked_once_a_second_and_never_given_up() {
        assert_eq!(asked_while(|_| true), 60);
    }

    #[test]
    fn a_busy_node_that_falls_silent_is_given_up() {
        // Ten reports; four questions while the last is believed; then three that go unanswered.
        assert_eq!(asked_while(|now| now < Time::ZERO + ASK_AT_WORK * 10), 10 + 4 + 3);
    }

    #[test]
    fn other_nodes_are_asked_at_the_usual_interval_while_one_is_busy() {
        let mut watermark = watermark(&[7, 8]);
        let ask = |watermark: &mut Watermark, intervals| {
            watermark.on_flushed(Time::ZERO + INTERVAL * intervals, INTERVAL, 10, Time::ZERO)
        };
        ask(&mut watermark, 0);
        watermark.on_status(Time::ZERO, NodeId(7), Duration::ZERO);
        assert_eq!(ask(&mut watermark, 1), [NodeId(8)]);
        assert_eq!(watermark.due_at(), Some(Time::ZERO + INTERVAL * 2));
        watermark.on_alive(NodeId(7));
        let again = ask(&mut watermark, 2);
        assert_eq!(again, [NodeId(7), NodeId(8)], "who asks for repair is no longer at work");
    }

    #[test]
    fn a_node_that_answers_the_roll_call_before_it_was_asked_is_not_busy() {
        let mut watermark = watermark(&[7]);
        let due = |watermark: &Watermark| watermark.due_at().map(|at| at.since(Time::ZERO));
        watermark.on_status(Time::ZERO, NodeId(7), Duration::ZERO);
        assert_eq!(watermark.on_flushed(Time::ZERO, INTERVAL, 10, Time::ZERO), [NodeId(7)]);
        watermark.on_status(Time::ZERO + INTERVAL / 2, NodeId(7), INTERVAL);
        assert_eq!(due(&watermark), Some(INTERVAL), "its word and the request have crossed");
        assert_eq!(watermark.on_flushed(Time::ZERO + INTERVAL, INTERVAL, 10, Time::ZERO).len(), 1);
        watermark.on_status(Time::ZERO + INTERVAL, NodeId(7), INTERVAL);
        assert!(
            watermark.on_flushed(Time::ZERO + INTERVAL * 2, INTERVAL, 10, Time::ZERO).is_empty()
        );
    }

    #[test]
    fn a_node_added_after_the_end_reopens_it() {
        let mut watermark = watermark(&[7]);
        watermark.on_ack(NodeId(7), OBJECT, id(3));
        watermark.poll_done();
        watermark.add(Time::ZERO, NodeId(8));
        assert!(watermark.due_at().is_some() && !watermark.is_done());
        watermark.remove(NodeId(8));
        assert_eq!(watermark.poll_done().map(|o| o.len()), Some(1));
    }

    #[test]
    fn a_node_added_before_any_watermark_is_asked_with_the_next() {
        let mut watermark = Watermark::new(3, Duration::ZERO);
        watermark.add(Time::ZERO, NodeId(7));
        assert!(watermark.is_done() && watermark.due_at().is_none());
        let point = Point { ordinal: 9, object: OBJECT, id: id(3), until: 0 };
        watermark.set(Time::ZERO, Some(point), &[]);
        assert_eq!(watermark.on_flushed(Time::ZERO, INTERVAL, 10, Time::ZERO), [NodeId(7)]);
    }
}
