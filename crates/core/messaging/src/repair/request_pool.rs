//! Requests across the objects of a publisher that does not answer: which nodes lack which terms,
//! as far as this node heard, and when this node answers with a sum of terms that it has.
//!
//! Each requester needs as many sums as it lacks terms, whatever others lack. So a node should not
//! send a sum that helps one requester while another node has a sum that helps all of them. A node
//! that serves all requesters sends at once. A node that serves only some waits in proportion.

use crate::{
    coding::coded_packet::Scope,
    repair::outstanding::{Outstanding, count},
    repair::repairer::OriginTiming,
};
use alloc::collections::{BTreeMap, VecDeque};
use fanfare_proto::{Duration, NodeId, RunSet, Time, rng::Rng};

/// Nodes whose requests are kept apart, as of a block.
const ASKERS_MAX: usize = 16;
/// Terms that one node may request.
const NAMES_MAX: u64 = 1024;
/// Publishers and classes with open requests.
const POOLS_MAX: usize = 64;
/// A request is of no use any more: who still lacks something has asked again.
const MEMORY: Duration = Duration::from_secs(60);
/// Who lacks something asks again within this time, unless its requests are lost: several cycles of NACKs on
/// slow links.
const ASKED_ANEW: Duration = Duration::from_secs(10);
/// Sums in a row that may have been missed.
const MISSED_MAX: u8 = 8;
/// Sums remembered for those who asked while they were on their way.
const SUMS_MAX: usize = 64;
/// Requests in a row for the same that are answered with sums: who asks more often may have wrong symbols, or
/// get wrong sums, and is given what it names.
const ROUNDS: u8 = 24;

/// After so many, who has parity of its block sends that: it may be all that is left of what nobody has.
const STUCK: u8 = 4;
/// Who was sent a publisher's sum requests another of its terms first, which takes some rounds.
const LENT_AGAIN: Duration = Duration::from_secs(20);
/// As long as nobody lacks more than so many, requests are gathered for so many times as long: others who lack
/// as few speak meanwhile, and what serves one serves them.
const FEW: u16 = 8;
const PATIENT: u32 = 2;
/// As long as no more than so many ask, who sends goes on only while it serves all of them.
const ALL_OF: u32 = 3;

/// Who asked.
#[derive(Debug)]
struct Requester {
    at: Time,
    lacks: Outstanding,
    /// Of terms from here on it has not spoken.
    horizon: u64,
    /// The first of what it requested, and how often it has been that.
    first: Option<u64>,
    rounds: u8,
    /// It did not ask: it announced that it lacks this.
    announced: bool,
}

/// Of one publisher and class. Terms are numbered as its objects are: they do not wrap.
#[derive(Debug)]
pub(crate) struct RequestPool {
    requesters: BTreeMap<NodeId, Requester>,
    /// Sums that are known of, modulo 256.
    known: u8,
    /// Sums lately, and of what.
    sums: VecDeque<(Time, RunSet)>,
    /// The last of them was this node's own.
    speaks: bool,
    /// When the last was heard or sent.
    last: Option<Time>,
    /// When it was asked first of what is open.
    pub(crate) asked: Time,
    /// When this node answers; `None` while it has nothing to answer with.
    pub(crate) due: Option<Time>,
    /// When this node forwards a sum of the publisher's with this term, which nobody seems to have.
    lends: Option<(Time, u64)>,
    /// When this node, or another before it, did that last.
    lent: Option<(Time, u64)>,
}

/// How many of those who ask a sum serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gain {
    pub(crate) served: u32,
    pub(crate) open: u32,
}

impl Gain {
    /// Of a window, what one lets pass who serves only some.
    fn wait(self, window: Duration) -> Duration {
        window * (self.open - self.served) / self.open.max(1)
    }

    /// Whether who sends goes on with it. Of many who ask there is nearly always one that it does not serve: leaving
    /// off for that one, 30 subscribers of a deaf publisher at 50 % loss had all 187 s after its last message, not
    /// 54, and it took a third more bytes.
    fn goes_on(self) -> bool {
        match self.open <= ALL_OF {
            true => self.served == self.open && self.open > 0,
            false => self.served * 2 >= self.open,
        }
    }
}

impl RequestPool {
    fn new(now: Time) -> Self {
        Self {
            requesters: BTreeMap::new(),
            known: 0,
            sums: VecDeque::new(),
            speaks: false,
            last: None,
            asked: now,
            due: None,
            lends: None,
            lent: None,
        }
    }

    /// A NACK: its node lacks these terms. What it asked before counts no more.
    pub(crate) fn on_request(
        &mut self,
        now: Time,
        (node, names): (NodeId, RunSet),
        (horizon, grtt, gathering): (u64, Duration, Duration),
    ) {
        self.make_place(now, node);
        if self.requesters.len() >= ASKERS_MAX && !self.requesters.contains_key(&node) {
            return;
        }
        let idle = self.last.is_none_or(|at| now.since(at) >= gathering);
        if !self.is_open(now) || idle && self.last > Some(self.asked) {
            self.asked = now;
        }
        let some = first(&names, NAMES_MAX);
        let enough = count(&some);
        let mut lacks = Outstanding::new(some, enough);
        // Those may not have reached it when it spoke.
        self.sums.retain(|(at, _)| now.since(*at) < grtt);
        self.sums.iter().for_each(|(_, of)| _ = lacks.on_sum(of));
        let first = names.first_member(0);
        let before = self.requesters.get(&node).filter(|requester| requester.first == first);
        let rounds = before.map_or(0, |requester| requester.rounds).saturating_add(1);
        self.requesters
            .insert(node, Requester { at: now, lacks, horizon, first, rounds, announced: false });
    }

    /// It announces that it lacks these, and may lack others. Who has asked lately has said what it needs, which
    /// is less when it has sums.
    pub(crate) fn on_lacking(&mut self, now: Time, (node, names): (NodeId, &RunSet), horizon: u64) {
        match self.requesters.get_mut(&node) {
            Some(requester) if requester.announced => {
                let room = NAMES_MAX.saturating_sub(u64::from(count(requester.lacks.names())));
                requester.lacks.extend(&first(names, room));
                (requester.at, requester.horizon) = (now, requester.horizon.max(horizon));
            }
            Some(requester) if now.since(requester.at) < ASKED_ANEW => {}
            _ => {
                self.on_request(
                    now,
                    (node, names.clone()),
                    (horizon, Duration::ZERO, Duration::ZERO),
                );
                if let Some(requester) = self.requesters.get_mut(&node) {
                    requester.announced = true;
                }
            }
        }
    }

    /// What was served or is of no use any more is dropped.
    fn make_place(&mut self, now: Time, node: NodeId) {
        if self.requesters.len() >= ASKERS_MAX && !self.requesters.contains_key(&node) {
            let keeps = |requester: &Requester| {
                !requester.lacks.is_served() && now.since(requester.at) < MEMORY
            };
            self.requesters.retain(|_, requester| keeps(requester));
        }
    }

    /// A term was heard, or sent.
    pub(crate) fn on_term(&mut self, term: u64) {
        self.lends = self.lends.filter(|(_, lent)| *lent != term);
        for Requester { lacks, .. } in self.requesters.values_mut() {
            if lacks.names().contains(term) {
                lacks.on_name(term);
            }
        }
    }

    /// A sum was sent.
    pub(crate) fn on_own_sum(&mut self, now: Time, of: &RunSet) {
        self.on_sum(now, self.known, of);
        self.speaks = true;
    }

    /// A sum was heard, of who knew of so many before.
    pub(crate) fn on_sum(&mut self, now: Time, known: u8, of: &RunSet) {
        (self.speaks, self.last) = (false, Some(now));
        if let Some((_, term)) = self.lends.take_if(|(_, term)| of.contains(*term)) {
            self.lent = Some((now, term));
        }
        let missed = known.wrapping_sub(self.known);
        let missed = if missed <= MISSED_MAX && !self.sums.is_empty() { missed } else { 0 };
        for requester in self.requesters.values_mut() {
            // Where one brings nothing, neither does the next.
            _ = (0..=missed).all(|_| requester.lacks.on_sum(of));
        }
        self.known = known.wrapping_add(1);
        if self.sums.len() >= SUMS_MAX {
            self.sums.pop_front();
        }
        self.sums.push_back((now, of.clone()));
    }

    /// Sums that are known of.
    pub(crate) fn known(&self) -> u8 {
        self.known
    }

    /// Those who lack something, as far as they have said so lately.
    fn open(&self, now: Time) -> impl Iterator<Item = &Requester> {
        let open = move |requester: &&Requester| {
            !requester.lacks.is_served() && now.since(requester.at) < ASKED_ANEW
        };
        self.requesters.values().filter(open)
    }

    /// Of these a term that somebody has requested so often that it is to have it by itself.
    pub(crate) fn alone(&self, held: &RunSet) -> Option<u64> {
        let often = self.requesters.values().filter(|requester| requester.rounds > ROUNDS);
        let first = often.filter_map(|requester| requester.lacks.names().first_member(0));
        first.filter(|term| held.contains(*term)).min()
    }

    /// What this node has requested first so often that nobody seems to have it.
    pub(crate) fn stuck(&self, node: NodeId) -> Option<u64> {
        let requester = self.requesters.get(&node).filter(|requester| requester.rounds > STUCK)?;
        requester.lacks.names().first_member(0)
    }

    /// Whether somebody may still lack something.
    pub(crate) fn is_open(&self, now: Time) -> bool {
        self.open(now).next().is_some()
    }

    /// What somebody lacks. Not what one of them has not spoken of: it may lack that, too, and a sum with it
    /// would bring it nothing else.
    pub(crate) fn names(&self, now: Time) -> RunSet {
        let mut names = RunSet::default();
        for (first, end) in self.open(now).flat_map(|requester| requester.lacks.names().iter()) {
            names.insert(first, end);
        }
        let horizon = self.open(now).map(|requester| requester.horizon).min().unwrap_or(0);
        names.remove(horizon, u64::MAX);
        names
    }

    /// Whom a sum of these would bring something. Who has sent sums of terms will send as many as it takes: others,
    /// who may only have missed some, add none of the same.
    pub(crate) fn gain(&self, now: Time, of: &RunSet) -> Gain {
        let (mut served, mut open) = (0, 0);
        // What no sum lately was of, and is not here, nobody may have.
        let within_reach =
            |term: &u64| of.contains(*term) || self.sums.iter().any(|(_, sum)| sum.contains(*term));
        for Requester { lacks, .. } in self.open(now) {
            let mut names = lacks.names().iter().flat_map(|(first, end)| first..end);
            let reached = names.any(|term| within_reach(&term));
            open += u32::from(reached);
            served += u32::from(lacks.gains(of) && (self.speaks || lacks.is_fresh(of)));
        }
        Gain { served, open }
    }

    /// Of these the one of which a sum serves most; of equals the first, which has the oldest.
    pub(crate) fn best<'w>(&self, now: Time, windows: &'w [RunSet]) -> Option<&'w RunSet> {
        let served = windows.iter().rev().map(|window| (self.gain(now, window).served, window));
        served.filter(|(served, _)| *served > 0).max_by_key(|(served, _)| *served).map(|(_, w)| w)
    }

    /// Decides when this node answers: not before `from`, who holds little or serves few later than others.
    pub(crate) fn plan(
        &mut self,
        (now, from): (Time, Time),
        held: &RunSet,
        (timing, rng): (OriginTiming, &mut Rng),
    ) {
        let gain = self.gain(now, held);
        if gain.served == 0 {
            self.due = None;
            return;
        }
        let window = timing.window();
        let most = self.open(now).map(|requester| requester.lacks.enough).max().unwrap_or(0);
        let wait = gathering(timing) * if most <= FEW { PATIENT } else { 1 };
        let from = from.max(self.asked + wait + from.since(now));
        let (held, names) = (u32::from(count(held)), u32::from(count(&self.names(now)).max(1)));
        let lacking = 100 - (held * 100 / names).min(100);
        let later = window * lacking / 100 + gain.wait(window);
        self.due = Some(from + later + timing.draw(rng));
    }

    /// A sum of the publisher's is here that has this term.
    pub(crate) fn lend(&mut self, at: Time, term: u64) {
        let late = self.lent.filter(|(lent, of)| *of == term && at.since(*lent) < LENT_AGAIN);
        if self.lends.is_none() && late.is_none() {
            self.lends = Some((at, term));
        }
    }

    /// The term of the one that is to go now.
    pub(crate) fn take_lent(&mut self, now: Time) -> Option<u64> {
        let (_, term) = self.lends.take_if(|(at, _)| *at <= now)?;
        self.lent = Some((now, term));
        Some(term)
    }

    /// When this node speaks next.
    fn next(&self) -> Option<Time> {
        self.due.into_iter().chain(self.lends.map(|(at, _)| at)).min()
    }

    /// This node has sent one: it goes on as long as its next one serves all, or of many half.
    pub(crate) fn go_on(
        &mut self,
        now: Time,
        (next, held): (&RunSet, &RunSet),
        chance: (OriginTiming, &mut Rng),
    ) {
        match self.gain(now, next).goes_on() {
            true => self.due = Some(now),
            false => self.plan((now, now), held, chance),
        }
    }
}

/// As long as a sender gathers requests (RFC 5740 5.4.1): one sum serves all of them.
pub(crate) fn gathering(timing: OriginTiming) -> Duration {
    timing.window() + timing.grtt
}

/// The first `count` members.
pub(crate) fn first(set: &RunSet, count: u64) -> RunSet {
    let (mut some, mut left) = (RunSet::default(), count);
    for (first, end) in set.iter() {
        let end = end.min(first.saturating_add(left));
        some.insert(first, end);
        left -= end - first;
    }
    some
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct RequestPools {
    pools: BTreeMap<Scope, RequestPool>,
}

impl RequestPools {
    /// `None` when there is no room for another.
    pub(crate) fn entry(&mut self, now: Time, of: Scope) -> Option<&mut RequestPool> {
        if self.pools.len() >= POOLS_MAX && !self.pools.contains_key(&of) {
            self.pools.retain(|_, pool| pool.is_open(now) && now.since(pool.asked) < MEMORY);
        }
        if self.pools.len() >= POOLS_MAX && !self.pools.contains_key(&of) {
            return None;
        }
        Some(self.pools.entry(of).or_insert_with(|| RequestPool::new(now)))
    }

    pub(crate) fn get_mut(&mut self, of: Scope) -> Option<&mut RequestPool> {
        self.pools.get_mut(&of)
    }

    /// The first that is due.
    pub(crate) fn due(&self, now: Time) -> Option<Scope> {
        let due = |pool: &RequestPool| pool.next().is_some_and(|due| due <= now);
        self.pools.iter().find(|(_, pool)| due(pool)).map(|(of, _)| *of)
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.pools.values().filter_map(RequestPool::next).min()
    }

    /// Nothing of it can be had any more.
    pub(crate) fn forget(&mut self, scope: Scope) {
        self.pools.remove(&scope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::coded_packet::Class;
    use alloc::vec::Vec;
    use fanfare_proto::InstanceId;

    const TIMING: OriginTiming =
        OriginTiming { grtt: Duration::from_millis(100), backoff: 4, group: 10, members: 9 };
    /// Behind all terms here.
    const END: u64 = 10_000;

    fn scope(node: u32) -> Scope {
        ((NodeId(node), InstanceId(1)), Class::Info)
    }
    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }
    fn set(terms: &[u64]) -> RunSet {
        let mut set = RunSet::default();
        terms.iter().for_each(|&term| set.insert(term, term + 1));
        set
    }
    fn ask(pool: &mut RequestPool, ms: u64, node: u32, terms: &[u64], horizon: u64) {
        let times = (horizon, TIMING.grtt, gathering(TIMING));
        pool.on_request(at(ms), (NodeId(node), set(terms)), times);
    }
    /// Sums of these that this node sends until they bring nobody anything.
    fn sent(pool: &mut RequestPool, ms: u64, held: &[u64]) -> u32 {
        let held = set(held);
        let mut count = 0;
        while pool.gain(at(ms), &held).served > 0 {
            pool.on_own_sum(at(ms), &held);
            count += 1;
        }
        count
    }

    #[test]
    fn as_many_sums_serve_all_as_the_neediest_lacks() {
        let mut pool = RequestPool::new(at(0));
        ask(&mut pool, 0, 2, &[1, 2, 3], END);
        ask(&mut pool, 0, 3, &[4, 5], END);
        ask(&mut pool, 0, 4, &[3, 4, 6, 7], END);
        assert_eq!(sent(&mut pool, 0, &[1, 2, 3, 4, 5, 6, 7]), 4);
        assert!(!pool.is_open(at(0)));
    }

    #[test]
    fn a_partial_holder_serves_a_part_and_others_continue_with_the_rest() {
        let mut pool = RequestPool::new(at(0));
        ask(&mut pool, 0, 2, &[1, 2, 3], END);
        assert_eq!(sent(&mut pool, 0, &[1, 3, 9]), 2);
        assert_eq!(pool.names(at(0)).iter().collect::<Vec<_>>(), [(2, 3)]);
        pool.on_sum(at(10), pool.known(), &set(&[2, 3]));
        assert!(!pool.is_open(at(10)));
    }

    #[test]
    fn a_node_that_missed_a_sum_sends_one_of_other_terms() {
        let mut pool = RequestPool::new(at(0));
        ask(&mut pool, 0, 2, &[1, 2, 3, 4], END);
        pool.on_sum(at(10), 0, &set(&[1, 2, 3]));
        assert_eq!(pool.gain(at(10), &set(&[1, 2, 3])), Gain { served: 0, open: 1 });
        assert_eq!(pool.gain(at(10), &set(&[3, 4])), Gain { served: 1, open: 1 });
        // The next tells how many there were.
        pool.on_sum(at(20), 2, &set(&[1, 2, 3]));
        assert_eq!(pool.names(at(20)).iter().collect::<Vec<_>>(), [(4, 5)]);
    }

    #[test]
    fn sums_of_one_repairer_end_when_they_cover_its_terms() {
        let mut pool = RequestPool::new(at(0));
        ask(&mut pool, 0, 2, &[1, 2, 3, 4, 5, 6, 7], END);
        // Another's, of which more would be needed.
        pool.on_sum(at(10), 0, &set(&[3, 4, 5, 6, 7]));
        pool.on_sum(at(20), 1, &set(&[3, 4, 5, 6, 7]));
        assert_eq!(sent(&mut pool, 30, &[1, 2, 3]), 3);
        assert_eq!(pool.names(at(30)).iter().collect::<Vec<_>>(), [(4, 8)]);
    }

    #[test]
    fn requests_are_aggregated_longer_while_all_lack_few_terms() {
        let due = |terms: &[u64]| {
            let mut pool = RequestPool::new(at(0));
            ask(&mut pool, 0, 2, terms, END);
            let mut rng = Rng::new(1);
            pool.plan((at(0), at(0)), &set(terms), (TIMING, &mut rng));
            pool.due.unwrap()
        };
        let many: Vec<u64> = (0..=u64::from(FEW)).collect();
        let gathered = due(&many[1..]).since(due(&many));
        assert_eq!(gathered, gathering(TIMING));
    }

    #[test]
    fn a_term_that_stays_first_in_requests_is_taken_as_unavailable() {
        let mut pool = RequestPool::new(at(0));
        for round in 0..u64::from(STUCK) {
            ask(&mut pool, 3000 * round, 2, &[7, 8 + round], END);
            assert_eq!(pool.stuck(NodeId(2)), None);
        }
        ask(&mut pool, 20_000, 2, &[7, 99], END);
        assert_eq!((pool.stuck(NodeId(2)), pool.stuck(NodeId(3))), (Some(7), None));
        ask(&mut pool, 23_000, 2, &[99], END);
        assert_eq!(pool.stuck(NodeId(2)), None);
    }

    #[test]
    fn a_publishers_sum_goes_when_nobody_else_was_heard_to_send_one_and_another_later() {
        let mut pool = RequestPool::new(at(0));
        pool.lend(at(100), 7);
        assert_eq!((pool.next(), pool.take_lent(at(99))), (Some(at(100)), None));
        pool.on_sum(at(99), 0, &set(&[7, 8]));
        assert_eq!((pool.next(), pool.take_lent(at(100))), (None, None));
        pool.lend(at(20_000), 7);
        assert_eq!(pool.next(), None);
        pool.lend(at(20_000), 9);
        assert_eq!(pool.take_lent(at(20_000)), Some(9));
        pool.lend(at(30_000), 9);
        assert_eq!(pool.next(), None);
        pool.lend(at(40_000), 9);
        assert_eq!(pool.next(), Some(at(40_000)));
    }

    #[test]
    fn only_terms_that_all_requesters_mentioned_are_sent() {
        let mut pool = RequestPool::new(at(0));
        ask(&mut pool, 0, 2, &[1, 2, 8], 10);
        ask(&mut pool, 0, 3, &[1], 5);
        assert_eq!(pool.names(at(0)).iter().collect::<Vec<_>>(), [(1, 3)]);
        ask(&mut pool, 100, 3, &[1], 10);
        assert_eq!(pool.names(at(100)).iter().collect::<Vec<_>>(), [(1, 3), (8, 9)]);
        // Who has not requested a while holds nobody up.
        ask(&mut pool, 9_000, 2, &[1, 20], 30);
        assert_eq!(pool.names(at(9_000)).iter().count(), 1);
        assert_eq!(pool.names(at(11_000)).iter().collect::<Vec<_>>(), [(1, 2), (20, 21)]);
    }

    #[test]
    fn an_answer_waits_for_aggregation_and_longer_at_nodes_that_have_less() {
        let mut rng = Rng::new(3);
        let mut pool = RequestPool::new(at(0));
        ask(&mut pool, 0, 2, &[1, 2, 3, 4], END);
        let mut due = |held: &[u64]| {
            pool.plan((at(0), at(0)), &set(held), (TIMING, &mut rng));
            pool.due
        };
        let all = due(&[1, 2, 3, 4]).unwrap();
        assert!(all >= at(0) + gathering(TIMING));
        assert!(due(&[1]).unwrap() >= at(0) + gathering(TIMING) + TIMING.window() * 3 / 4);
        assert_eq!(due(&[7]), None);
    }

    #[test]
    fn a_node_continues_sending_while_it_serves_all_of_a_few_or_half_of_many() {
        let goes_on = |served, open| Gain { served, open }.goes_on();
        assert_eq!([goes_on(3, 3), goes_on(2, 3), goes_on(0, 0)], [true, false, false]);
        assert_eq!([goes_on(2, 4), goes_on(8, 16), goes_on(7, 16)], [true, true, false]);
    }

    #[test]
    fn a_requester_of_unavailable_terms_does_not_delay_others() {
        let mut rng = Rng::new(3);
        let mut pool = RequestPool::new(at(0));
        ask(&mut pool, 0, 2, &[100], END);
        ask(&mut pool, 0, 3, &[1, 2], END);
        let held = set(&[1, 2]);
        assert_eq!(pool.gain(at(0), &held), Gain { served: 1, open: 1 });
        pool.on_own_sum(at(500), &held);
        pool.go_on(at(500), (&held, &held), (TIMING, &mut rng));
        assert_eq!(pool.due, Some(at(500)));
    }

    #[test]
    fn a_term_requested_again_and_again_is_sent_alone() {
        let mut pool = RequestPool::new(at(0));
        for round in 0..=u64::from(ROUNDS) {
            assert_eq!(pool.alone(&set(&[7, 8])), None);
            ask(&mut pool, round * 1000, 2, &[7, 8 + round], END);
        }
        assert_eq!((pool.alone(&set(&[7, 8])), pool.alone(&set(&[8]))), (Some(7), None));
    }

    #[test]
    fn an_announcement_adds_nothing_to_a_recent_request() {
        let mut pool = RequestPool::new(at(0));
        ask(&mut pool, 0, 2, &[5], END);
        pool.on_lacking(at(1000), (NodeId(2), &set(&[1])), END);
        assert_eq!(pool.names(at(1000)).iter().collect::<Vec<_>>(), [(5, 6)]);
        for term in [1, 3] {
            pool.on_lacking(at(11_000), (NodeId(2), &set(&[term])), END);
        }
        assert_eq!(pool.names(at(11_000)).iter().collect::<Vec<_>>(), [(1, 2), (3, 4)]);
    }

    #[test]
    fn requests_under_many_forged_ids_stay_within_bounds() {
        let mut pool = RequestPool::new(at(0));
        let all: Vec<u64> = (0..5000).collect();
        (0..100).for_each(|node| ask(&mut pool, 0, node, &all, END));
        assert_eq!(pool.requesters.len(), ASKERS_MAX);
        assert_eq!(u64::from(count(&pool.names(at(0)))), NAMES_MAX);
        let mut pools = RequestPools::default();
        for node in 0..100 {
            if let Some(pool) = pools.entry(at(0), scope(node)) {
                ask(pool, 0, 2, &[1], END);
            }
        }
        assert_eq!(pools.pools.len(), POOLS_MAX);
        assert!(pools.entry(at(100_000), scope(200)).is_some());
    }
}
