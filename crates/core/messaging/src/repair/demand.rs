//! Requests for an origin's object that are not answered yet, as a repairer sees them.
//!
//! A NACK can ask in two ways. A request for parity says how many symbols are missing; any new
//! symbol of the block answers it. An explicit request names source symbols; those symbols answer
//! it, and parity does, too.

use crate::repair::outstanding::{Outstanding, count};
use alloc::{collections::VecDeque, vec::Vec};
use fanfare_proto::{Duration, NodeId, ObjectKey, RunSet, Time};

/// Requests by name that are kept apart: who asks besides counts when it lacks more than any of them.
const ASKERS_MAX: usize = 16;
/// Sums in a row that may have been missed.
const MISSED_MAX: u8 = 8;
/// Rounds of requests that are answered with sums: who asks more often may be of a version that does not
/// read them, and is given what it names.
const SUM_ROUNDS: u8 = 6;
/// Sums remembered for those who asked while they were on their way.
const SUMS_MAX: usize = 64;

/// What of an object is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Info,
    Block(u32),
}

/// What a repair of a block brings; of INFO, symbol 0 is all.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Symbol(u16),
    /// A sum of symbols, parity behind the source symbols. Who sends it knew of so many sums `before`.
    Sum {
        seed: u8,
        before: u8,
        of: RunSet,
    },
}

/// What of which object.
pub(crate) type Wanted = (ObjectKey, Part);

/// What one NACK asks of one block; INFO is one symbol without a name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// Who asks: what it asked before counts no more.
    pub(crate) from: Option<NodeId>,
    /// Symbols requested as parity.
    pub(crate) unnamed: u16,
    /// Source symbols requested by name.
    pub(crate) names: RunSet,
    pub(crate) named: u16,
    /// It is for INFO, of which there is nothing fresh: who asks later gets the same again.
    pub(crate) info: bool,
    /// The origin does not hear who asks.
    pub(crate) unheard: bool,
}

/// All that is open of one block.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    /// Fresh symbols that serve all who requested parity.
    unnamed: u16,
    /// What each lacks who asked by name, as far as it was not heard since.
    requesters: Vec<Outstanding>,
    /// Source symbols requested by name and not heard since.
    names: RunSet,
    names_left: u16,
    /// Symbols heard since it was first asked: nobody sends them again without a request.
    heard: RunSet,
    fresh: u16,
    parity: u16,
    last_heard: Option<Time>,
    /// Sums heard lately, and of what.
    sums: VecDeque<(Time, RunSet)>,
    /// Sums heard or sent since it was first asked: the seed of the next.
    summed: u8,
    /// The origin does not hear who asks: it is not waited for.
    pub(crate) unheard: bool,
    /// Rounds of requests, and when the last began.
    rounds: u8,
    round_at: Time,
    pub(crate) asked: Time,
    /// When this node answers; `None` while it has nothing to answer with.
    pub(crate) due: Option<Time>,
    /// When somebody had all that it had requested by name.
    pub(crate) served: Option<Time>,
}

impl Demand {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            unnamed: 0,
            requesters: Vec::new(),
            names: RunSet::default(),
            names_left: 0,
            heard: RunSet::default(),
            fresh: 0,
            parity: 0,
            last_heard: None,
            sums: VecDeque::new(),
            summed: 0,
            unheard: false,
            rounds: 0,
            round_at: now,
            asked: now,
            due: None,
            served: None,
        }
    }

    /// Parity that serves all who asked by name.
    fn count(&self) -> u16 {
        self.requesters.iter().map(|requester| requester.enough).max().unwrap_or(0)
    }

    /// Whether somebody may still lack something.
    pub(crate) fn is_open(&self) -> bool {
        self.unnamed > self.fresh || self.count() > self.parity && self.names_left > self.parity
    }

    /// A NACK. What was heard up to one GRTT before may not have reached the asker when it spoke; what
    /// was heard earlier has not helped it.
    pub(crate) fn on_request(&mut self, now: Time, request: &Request, grtt: Duration) {
        let in_flight = self.last_heard.is_some_and(|at| now.since(at) < grtt);
        if !self.is_open() {
            (self.asked, self.unheard) = (now, request.unheard);
        }
        self.unheard |= request.unheard;
        let (fresh, parity) = if in_flight { (0, 0) } else { (self.fresh, self.parity) };
        if request.info && !in_flight {
            self.forget_heard();
        }
        self.sums.retain(|(at, _)| now.since(*at) < grtt);
        if request.unnamed > 0 {
            self.unnamed = self.unnamed.max(fresh.saturating_add(request.unnamed));
        }
        if let Some(from) = request.from {
            self.on_done(from);
        }
        if request.named == 0 {
            return;
        }
        self.note_requester(request, parity, in_flight);
        for (first, end) in request.names.iter() {
            if in_flight {
                let left: Vec<_> = self.heard.gaps(first, end).collect();
                left.into_iter().for_each(|(first, end)| self.names.insert(first, end));
            } else {
                self.names.insert(first, end);
                self.heard.remove(first, end);
            }
        }
        // Parity heard before has been reckoned with by who asks now.
        self.names_left = count(&self.names).saturating_add(parity);
    }

    fn note_requester(&mut self, request: &Request, parity: u16, in_flight: bool) {
        let (mut names, mut named) = (request.names.clone(), request.named);
        if in_flight {
            for (first, end) in self.heard.iter() {
                names.remove(first, end);
            }
            named = count(&names);
        }
        let enough = parity.saturating_add(named);
        let mut requester = Outstanding::new(names, enough);
        requester.of = request.from.unwrap_or(NodeId::NONE);
        self.sums.iter().for_each(|(_, of)| _ = requester.on_sum(of));
        if self.requesters.len() >= ASKERS_MAX {
            let heard = self.parity;
            self.requesters.retain(|requester| requester.enough > heard);
        }
        if self.requesters.len() < ASKERS_MAX {
            self.requesters.push(requester);
        } else if let Some(most) =
            self.requesters.iter_mut().max_by_key(|requester| requester.enough)
            && requester.enough > most.enough
        {
            *most = requester;
        }
    }

    /// What this node requested by name it no longer requests.
    pub(crate) fn on_done(&mut self, node: NodeId) {
        let before = self.requesters.len();
        self.requesters.retain(|requester| requester.of != node);
        if self.requesters.len() < before && before < ASKERS_MAX {
            self.gather_names();
        }
    }

    /// What those lack together who asked by name, and are known all.
    fn gather_names(&mut self) {
        self.names = RunSet::default();
        let open = self.requesters.iter().filter(|requester| requester.enough > self.parity);
        for (first, end) in open.flat_map(|requester| requester.names().iter()) {
            self.names.insert(first, end);
        }
        self.names_left = count(&self.names).saturating_add(self.parity);
    }

    /// A symbol of the block (of `len` source symbols) was heard, or sent.
    pub(crate) fn on_symbol(&mut self, now: Time, symbol: u16, len: u16) {
        self.last_heard = Some(now);
        let number = u64::from(symbol);
        if self.heard.contains(number) {
            return;
        }
        self.heard.insert(number, number + 1);
        self.fresh = self.fresh.saturating_add(1);
        if symbol >= len {
            self.parity = self.parity.saturating_add(1);
        } else if self.names.contains(number) {
            self.names.remove(number, number + 1);
            self.names_left = self.names_left.saturating_sub(1);
            self.on_named(now, number);
        }
    }

    fn on_named(&mut self, now: Time, number: u64) {
        for requester in &mut self.requesters {
            if requester.names().contains(number) {
                let lacked = requester.enough > self.parity;
                requester.on_name(number);
                if lacked && requester.enough <= self.parity {
                    self.served = Some(now);
                }
            }
        }
    }

    /// A sum of symbols was heard, or sent. Who sends several at once counts them: those that were
    /// missed here were of the same symbols, and others have heard them.
    pub(crate) fn on_sum(&mut self, now: Time, before: u8, of: &RunSet) {
        let missed = before.wrapping_sub(self.summed);
        let missed = if missed <= MISSED_MAX { missed } else { 0 };
        (0..=missed).for_each(|_| self.on_one_sum(now, of));
    }

    fn on_one_sum(&mut self, now: Time, of: &RunSet) {
        self.last_heard = Some(now);
        self.fresh = self.fresh.saturating_add(1);
        self.summed = self.summed.wrapping_add(1);
        if self.sums.len() >= SUMS_MAX {
            self.sums.pop_front();
        }
        self.sums.push_back((now, of.clone()));
        for requester in &mut self.requesters {
            let lacked = requester.enough > self.parity;
            requester.on_sum(of);
            if lacked && requester.enough <= self.parity {
                self.served = Some(now);
            }
        }
        if self.requesters.len() < ASKERS_MAX {
            self.gather_names();
        }
    }

    /// Sums of the block that are known of.
    pub(crate) fn summed(&self) -> u8 {
        self.summed
    }

    /// Whether a sum of these symbols serves somebody who asked by name. It then serves all others as
    /// well, those too that kept silent when they heard others request as much.
    pub(crate) fn wants_sum(&self, symbols: &[u16]) -> bool {
        let mut of = RunSet::default();
        symbols.iter().for_each(|&symbol| of.insert(u64::from(symbol), u64::from(symbol) + 1));
        let mut open = self.requesters.iter().filter(|requester| requester.enough > self.parity);
        self.rounds <= SUM_ROUNDS && open.any(|requester| requester.gains(&of))
    }

    /// Of these symbols those that serve who lacks least; if none does, who lacks next least, and so on.
    pub(crate) fn for_who_lacks_least(&self, symbols: &[u16]) -> Vec<u16> {
        let mut requesters: Vec<&Outstanding> =
            self.requesters.iter().filter(|requester| requester.enough > self.parity).collect();
        requesters.sort_by_key(|requester| requester.enough);
        let of = |requester: &Outstanding| -> Vec<u16> {
            let named = |symbol: &&u16| requester.names().contains(u64::from(**symbol));
            symbols.iter().filter(named).copied().collect()
        };
        requesters.into_iter().map(of).find(|symbols| !symbols.is_empty()).unwrap_or_default()
    }

    /// A request belongs to the round before, when that began less than `repair_round` ago. Gives the number
    /// of rounds so far, from 1.
    pub(crate) fn round(&mut self, now: Time, round: Duration) -> u8 {
        if self.rounds == 0 || now.since(self.round_at) >= round {
            self.rounds = self.rounds.saturating_add(1);
            self.round_at = now;
        }
        self.rounds
    }

    /// Somebody with the whole block answers: what it does not bring will be requested again.
    pub(crate) fn leave(&mut self) {
        self.unnamed = self.fresh;
        self.requesters.clear();
    }

    /// Somebody who asked has had all since less than `window`: it is its turn, with parity.
    pub(crate) fn is_left(&self, now: Time, window: Duration) -> bool {
        self.served.is_some_and(|at| now.since(at) < window)
    }

    pub(crate) fn was_heard(&self, symbol: u16) -> bool {
        self.heard.contains(u64::from(symbol))
    }
    pub(crate) fn is_named(&self, symbol: u16) -> bool {
        self.names.contains(u64::from(symbol))
    }
    /// Whether all of a block of `len` symbols was requested.
    pub(crate) fn is_for_all(&self, len: u16) -> bool {
        let all = |requester: &Outstanding| requester.at_first.saturating_sub(self.parity) >= len;
        self.requesters.iter().any(all)
    }
    /// Nothing fresh is left to send: what was heard may be sent again.
    pub(crate) fn forget_heard(&mut self) {
        self.heard = RunSet::default();
    }
    /// When it was last asked or answered.
    pub(crate) fn touched(&self) -> Time {
        self.last_heard.map_or(self.asked, |at| at.max(self.asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRTT: Duration = Duration::from_millis(100);
    const LEN: u16 = 20;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }
    fn count(unnamed: u16) -> Request {
        Request { unnamed, ..Request::default() }
    }
    fn named(symbols: &[u16]) -> Request {
        let mut names = RunSet::default();
        symbols.iter().for_each(|&s| names.insert(u64::from(s), u64::from(s) + 1));
        Request { names, named: symbols.len() as u16, ..Request::default() }
    }

    #[test]
    fn a_repeated_request_replaces_the_earlier_one_of_the_same_node() {
        let from = |node, request| Request { from: Some(NodeId(node)), ..request };
        let mut demand = Demand::new(at(0));
        demand.on_request(at(0), &from(1, named(&[0, 1, 2, 3, 4, 5])), GRTT);
        demand.on_request(at(10), &from(2, named(&[9])), GRTT);
        demand.on_request(at(5_000), &from(1, named(&[5])), GRTT);
        let wanted = |demand: &Demand| (0..LEN).filter(|s| demand.is_named(*s)).collect::<Vec<_>>();
        assert_eq!(wanted(&demand), [5, 9]);
        demand.on_symbol(at(5_100), LEN, LEN);
        assert!(!demand.is_open(), "one parity symbol serves both");
    }

    #[test]
    fn the_greatest_count_is_served_not_the_total() {
        let mut demand = Demand::new(at(0));
        demand.on_request(at(0), &count(2), GRTT);
        demand.on_request(at(10), &count(3), GRTT);
        for symbol in [20, 21, 21, 4] {
            assert!(demand.is_open());
            demand.on_symbol(at(20), symbol, LEN);
        }
        assert!(!demand.is_open());
    }

    #[test]
    fn names_are_served_by_the_same_symbols_or_by_as_much_parity_as_one_lacks() {
        let asked = || {
            let mut demand = Demand::new(at(0));
            demand.on_request(at(0), &named(&[1, 2, 3]), GRTT);
            demand.on_request(at(0), &named(&[3, 4]), GRTT);
            demand
        };
        let mut by_name = asked();
        [1, 2, 3, 4].into_iter().for_each(|s| by_name.on_symbol(at(1), s, LEN));
        assert!(!by_name.is_open());
        let mut by_parity = asked();
        [20, 21].into_iter().for_each(|s| by_parity.on_symbol(at(1), s, LEN));
        assert!(by_parity.is_open());
        by_parity.on_symbol(at(1), 22, LEN);
        assert!(!by_parity.is_open());
    }

    #[test]
    fn a_later_request_is_served_in_full_again() {
        let mut demand = Demand::new(at(0));
        demand.on_request(at(0), &count(1), GRTT);
        demand.on_symbol(at(50), 20, LEN);
        demand.on_request(at(60), &count(1), GRTT);
        assert!(!demand.is_open(), "the answer is on its way");
        demand.on_request(at(400), &count(1), GRTT);
        assert!(demand.is_open() && demand.was_heard(20) && demand.asked == at(400));
        demand.on_symbol(at(450), 21, LEN);
        assert!(!demand.is_open());
    }

    #[test]
    fn info_asked_again_later_is_answered_once_more_and_no_more() {
        let mut demand = Demand::new(at(0));
        let info = Request { unnamed: 1, info: true, ..Request::default() };
        for ms in [0, 1000, 2000] {
            demand.on_request(at(ms), &info, GRTT);
            assert!(demand.is_open());
            demand.on_symbol(at(ms + 10), 0, 1);
            assert!(!demand.is_open());
        }
    }

    #[test]
    fn a_request_to_a_deaf_origin_is_kept_until_it_is_answered() {
        let mut demand = Demand::new(at(0));
        demand.on_request(at(0), &Request { unheard: true, ..count(1) }, GRTT);
        demand.on_request(at(1), &count(1), GRTT);
        assert!(demand.unheard);
        demand.on_symbol(at(50), 20, LEN);
        demand.on_request(at(400), &count(1), GRTT);
        assert!(!demand.unheard);
    }

    fn sum(symbols: &[u64]) -> RunSet {
        let mut of = RunSet::default();
        symbols.iter().for_each(|&s| of.insert(s, s + 1));
        of
    }

    #[test]
    fn sums_serve_each_who_asked_as_far_as_they_are_of_what_it_lacks() {
        let mut demand = Demand::new(at(0));
        demand.on_request(at(0), &named(&[1, 2, 3]), GRTT);
        demand.on_request(at(0), &named(&[3, 4]), GRTT);
        demand.on_sum(at(1), 0, &sum(&[0, 1, 3]));
        assert!(demand.is_open() && demand.wants_sum(&[0, 1]) && demand.wants_sum(&[4]));
        demand.on_sum(at(2), 1, &sum(&[0, 1, 3]));
        // 1 and 3 are known to the first by now, and 3 to the second.
        assert!(!demand.wants_sum(&[0, 1, 3]) && demand.wants_sum(&[0, 2, 3]));
        demand.on_symbol(at(3), 2, LEN);
        assert!(demand.is_open() && demand.served == Some(at(3)));
        demand.on_sum(at(4), 2, &sum(&[0, 4]));
        assert!(!demand.is_open());
    }

    #[test]
    fn a_sum_reveals_how_many_before_it_were_missed() {
        let mut demand = Demand::new(at(0));
        demand.on_request(at(0), &named(&[1, 2, 3]), GRTT);
        demand.on_sum(at(1), 2, &sum(&[1, 2, 3]));
        assert!(!demand.is_open() && demand.summed() == 3);
    }

    #[test]
    fn sums_in_flight_serve_a_request_but_not_a_later_one() {
        let mut demand = Demand::new(at(0));
        demand.on_request(at(0), &named(&[1]), GRTT);
        demand.on_sum(at(10), 0, &sum(&[1, 2]));
        demand.on_request(at(50), &named(&[2]), GRTT);
        assert!(!demand.is_open());
        demand.on_request(at(200), &named(&[2]), GRTT);
        assert!(demand.is_open() && demand.wants_sum(&[1, 2]));
    }

    #[test]
    fn a_node_that_asks_again_and_again_gets_the_named_symbols() {
        let mut demand = Demand::new(at(0));
        for round in 0..8 {
            demand.on_request(at(round * 1000), &named(&[1, 2]), GRTT);
            demand.round(at(round * 1000), GRTT * 5);
            assert_eq!(demand.wants_sum(&[1, 2]), round < u64::from(SUM_ROUNDS), "{round}");
        }
    }

    #[test]
    fn requests_close_to_each_other_are_one_round() {
        let mut demand = Demand::new(at(0));
        let rounds = [0, 100, 499, 500, 900, 1000].map(|ms| demand.round(at(ms), GRTT * 5));
        assert_eq!(rounds, [1, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn the_requester_that_lacks_least_is_served_first() {
        let mut demand = Demand::new(at(0));
        demand.on_request(at(0), &named(&[1, 2, 3]), GRTT);
        demand.on_request(at(0), &named(&[3, 4]), GRTT);
        let held = [1, 2, 3, 4];
        assert_eq!(demand.for_who_lacks_least(&held), [3, 4]);
        assert_eq!(demand.for_who_lacks_least(&[1, 2]), [1, 2], "of what is here");
        demand.on_symbol(at(10), 3, LEN);
        assert!(!demand.is_left(at(10), GRTT));
        demand.on_symbol(at(20), 4, LEN);
        assert!(demand.is_left(at(20), GRTT) && !demand.is_left(at(120), GRTT));
        assert_eq!(demand.for_who_lacks_least(&held), [1, 2]);
    }

    #[test]
    fn parity_is_for_what_is_still_lacking_of_what_was_named() {
        let mut demand = Demand::new(at(0));
        demand.on_request(at(0), &named(&[1, 2, 3, 5]), GRTT);
        demand.on_request(at(0), &named(&[1, 2, 6]), GRTT);
        for symbol in [1, 2, 20] {
            demand.on_symbol(at(10), symbol, LEN);
            assert!(demand.is_open());
        }
        demand.on_symbol(at(10), 21, LEN);
        assert!(!demand.is_open());
    }

    #[test]
    fn of_more_requesters_than_are_tracked_the_neediest_counts() {
        let mut demand = Demand::new(at(0));
        for n in 0..ASKERS_MAX as u16 {
            demand.on_request(at(0), &named(&[n]), GRTT);
        }
        demand.on_request(at(0), &named(&[1, 2, 3]), GRTT);
        assert_eq!((demand.requesters.len(), demand.count()), (ASKERS_MAX, 3));
    }

    #[test]
    fn a_name_asked_again_later_may_be_sent_again() {
        let mut demand = Demand::new(at(0));
        demand.on_request(at(0), &named(&[5]), GRTT);
        demand.on_symbol(at(10), 5, LEN);
        demand.on_request(at(20), &named(&[5]), GRTT);
        assert!(!demand.is_open() && demand.was_heard(5));
        demand.on_request(at(500), &named(&[5]), GRTT);
        assert!(demand.is_open() && demand.is_named(5) && !demand.was_heard(5));
    }
}
