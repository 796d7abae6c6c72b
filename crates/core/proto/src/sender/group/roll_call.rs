//! When to call the roll, and which receivers have answered (see [`crate::roll_call`]).

use crate::{
    roll_call::RollCalls,
    time::{Duration, Time},
};
use alloc::{collections::BTreeSet, vec::Vec};
use fanfare_wire::NodeId;

/// Answers are spread over at least this time.
const SPREAD_MIN: Duration = Duration::from_millis(50);
/// So many are reckoned with where it is not known how many there are, until more have answered than that:
/// a wide spread would hold up every small transfer to a few, and more who answer in a short time are
/// only a burst of a few packets.
const UNKNOWN: u32 = 3;
/// But not where an answer takes longer than this: whoever is told a rate below 224 kbit/s may have to do
/// with a radio that all of them share.
const SLOW_ANSWER: Duration = Duration::from_millis(4);
/// So many receivers that are still awaited are few: their answers need little room.
const FEW: u32 = 32;
/// That room, in times that an answer takes at the sender's rate: so that few of them meet even where all
/// share one medium.
const ANSWER_ROOM: u32 = 4;
/// A few answers are spread over at least this time: a scheduler's.
const FEW_SPREAD_MIN: Duration = Duration::from_millis(10);
/// Beyond the round trip an answer may take as long again, and this: a scheduler's slice.
const ANSWER_SLACK: Duration = Duration::from_millis(3);
/// From the first to the second call for a few, doubled each time: how far they are away is not yet
/// known, and either may be lost.
const FIRST_INTERVAL: Duration = Duration::from_millis(100);
/// When all who are awaited are known, calls are for nobody that is known to be there: so many times
/// rarer.
const RARER: u32 = 4;
/// More answers than this in one round, and the next round spreads them wider.
const ROUND_ANSWERS: u32 = 32;
/// Widest spread, as a multiple of the narrowest.
const SCALE_MAX: u32 = 64;
/// Receivers remembered as known.
const KNOWN_MAX: usize = 4096;
/// Receivers told that they are given up; each call has a byte for their number.
const GIVEN_UP_MAX: usize = 255;
/// Answers of receivers that are asked again take at most this share of the sender's rate. They are
/// for display only: they must not be noticed.
const AGAIN_SHARE: u32 = 100;
/// Calls in quick succession for those just given up: two must arrive to be believed.
const URGENT_CALLS: u8 = 3;
/// Least time between two reminders of a receiver that goes on asking: it has not heard that it is given up.
const REMINDED: Duration = Duration::from_millis(500);

#[derive(Debug)]
struct Call {
    content: Vec<u8>,
    interval: Duration,
    awaited: Option<u32>,
    again: u32,
    /// From this call to the next while a few are awaited.
    soon: Duration,
    next: Time,
    /// When it was called last, and what spread was told.
    called: Option<(Time, Duration)>,
}

/// The roll-calling machine.
#[derive(Debug)]
pub(in crate::sender) struct RollCaller {
    call: Option<Call>,
    known: BTreeSet<NodeId>,
    given_up: Vec<NodeId>,
    urgent: u8,
    /// First answers since the last call.
    answers: u32,
    scale: u32,
    /// The last node named: lists that do not fit go round.
    named_last: NodeId,
    /// The last node that was asked again: that goes round, too.
    asked_last: NodeId,
}

/// One call to be encoded.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sender) struct Round {
    pub(in crate::sender) spread: Duration,
    pub(in crate::sender) known: Vec<NodeId>,
    /// The first so many of them are given up.
    pub(in crate::sender) given_up: usize,
}

/// What a call goes by.
#[derive(Debug, Clone, Copy)]
pub(in crate::sender) struct CallTiming {
    /// K * GRTT.
    pub(in crate::sender) backoff: Duration,
    /// The next call follows after this at the soonest, unless somebody is to be told that he is given
    /// up.
    pub(in crate::sender) least: Duration,
    /// What an answer takes at the sender's rate.
    pub(in crate::sender) answer: Duration,
    /// There is one receiver, which need not leave time to others.
    pub(in crate::sender) alone: bool,
}

impl RollCaller {
    pub(in crate::sender) fn new() -> Self {
        let (known, named_last, asked_last) = (BTreeSet::new(), NodeId::NONE, NodeId::NONE);
        let (given_up, urgent) = (Vec::new(), 0);
        Self { call: None, known, given_up, urgent, answers: 0, scale: 1, named_last, asked_last }
    }

    /// Calls so from now on, or no more.
    pub(in crate::sender) fn set(&mut self, now: Time, calls: Option<RollCalls>) {
        self.call = calls.map(|RollCalls { content, interval, awaited, again }| Call {
            content,
            interval: interval.max(SPREAD_MIN),
            awaited,
            again,
            soon: FIRST_INTERVAL,
            next: now,
            called: None,
        });
    }

    pub(in crate::sender) fn is_on(&self) -> bool {
        self.call.is_some()
    }

    pub(in crate::sender) fn content(&self) -> &[u8] {
        self.call.as_ref().map_or(&[], |call| &call.content)
    }

    /// A receiver told its status: it need not answer again.
    pub(in crate::sender) fn on_answer(&mut self, node: NodeId) {
        if self.known.len() < KNOWN_MAX && self.known.insert(node) {
            self.answers += 1;
        }
    }

    /// Somebody is heard who may not have answered: the next call is now.
    pub(in crate::sender) fn on_newcomer(&mut self, now: Time) {
        if let Some(call) = &mut self.call {
            call.next = call.next.min(now);
        }
    }

    /// A receiver is no longer served, and shall know it soon.
    pub(in crate::sender) fn give_up(&mut self, now: Time, node: NodeId) {
        self.known.remove(&node);
        if self.given_up.len() < GIVEN_UP_MAX && !self.given_up.contains(&node) {
            self.given_up.push(node);
            self.urgent = URGENT_CALLS;
            if let Some(call) = &mut self.call {
                call.next = call.next.min(now);
            }
        }
    }

    /// A receiver that is given up has spoken: it has not heard of that yet.
    pub(in crate::sender) fn on_given_up(&mut self, now: Time) {
        if let Some(call) = &mut self.call
            && call.called.is_none_or(|(called, _)| now.since(called) >= REMINDED)
        {
            call.next = call.next.min(now);
        }
    }

    pub(in crate::sender) fn due_at(&self) -> Option<Time> {
        self.call.as_ref().map(|call| call.next)
    }

    /// A call goes out; at most `fit` receivers can be named in it.
    pub(in crate::sender) fn on_sent(&mut self, now: Time, pacer: CallTiming, fit: usize) -> Round {
        self.scale = if self.answers > self.round_answers() {
            (self.scale * 2).min(SCALE_MAX)
        } else {
            (self.scale / 2).max(1)
        };
        self.answers = 0;
        let spread = self.spread(pacer);
        if let Some(call) = &mut self.call {
            call.called = Some((now, spread));
        }
        self.follow(now, pacer);
        let mut known: Vec<NodeId> = self.given_up.iter().take(fit).copied().collect();
        let given_up = known.len();
        let asked = self.asked_again(pacer);
        known.extend(self.names(fit - given_up, &asked));
        Round { spread, known, given_up }
    }

    /// How many are still awaited, where they are few.
    fn few(&self) -> Option<u32> {
        let known = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        let missing = self.call.as_ref()?.awaited?.checked_sub(known)?;
        (1..=FEW).contains(&missing).then_some(missing)
    }

    fn all_known(&self) -> bool {
        let awaited = self.call.as_ref().and_then(|call| call.awaited);
        awaited.is_some_and(|awaited| self.known.len() >= awaited as usize)
    }

    /// Whether it is known how many there are.
    fn is_counted(&self) -> bool {
        self.call.as_ref().is_some_and(|call| call.awaited.is_some())
    }

    fn round_answers(&self) -> u32 {
        if self.is_counted() { ROUND_ANSWERS } else { UNKNOWN * ANSWER_ROOM }
    }

    /// In which time answers are to come.
    fn spread(&self, pacer: CallTiming) -> Duration {
        if pacer.alone {
            return Duration::ZERO;
        }
        let interval = self.call.as_ref().map_or(SPREAD_MIN, |call| call.interval);
        let many = (pacer.backoff.max(SPREAD_MIN) * self.scale).min(interval);
        let reckoned = match self.is_counted() {
            true => self.few(),
            false => (pacer.answer <= SLOW_ANSWER).then_some(UNKNOWN * self.scale),
        };
        let room = |answers| pacer.answer.saturating_mul(ANSWER_ROOM * answers);
        reckoned.map_or(many, |answers| room(answers).max(FEW_SPREAD_MIN).min(many))
    }

    /// By when whoever has heard the last call, and is no farther than `rtt`, has answered. Where none has
    /// gone out, as if it went out now.
    pub(in crate::sender) fn answered_by(
        &self,
        now: Time,
        rtt: Duration,
        pacer: CallTiming,
    ) -> Option<Time> {
        let call = self.call.as_ref()?;
        let (called, spread) = match call.called {
            // What is heard so soon answers the call before: that is at least as old as the round trip.
            Some((called, spread)) if now.since(called) < rtt => (now.before(rtt), spread),
            Some(last) => last,
            None => (now, self.spread(pacer)),
        };
        Some(called + spread + rtt + rtt.max(ANSWER_SLACK))
    }

    /// When the next call is due.
    fn follow(&mut self, now: Time, pacer: CallTiming) {
        let (few, all_known, urgent) = (self.few().is_some(), self.all_known(), self.urgent > 0);
        self.urgent = self.urgent.saturating_sub(1);
        let Some(call) = &mut self.call else { return };
        let wait = if urgent {
            pacer.backoff.max(SPREAD_MIN).min(call.interval)
        } else if few {
            let soon = call.soon.min(call.interval);
            call.soon = soon * 2;
            soon.max(pacer.least)
        } else if all_known && call.again == 0 {
            (call.interval * RARER).max(pacer.least)
        } else {
            call.interval.max(pacer.least)
        };
        call.next = now + wait;
    }

    /// Those who are known, and are to answer this call all the same.
    fn asked_again(&mut self, pacer: CallTiming) -> BTreeSet<NodeId> {
        let Some(call) = &self.call else { return BTreeSet::new() };
        let room = call.interval / AGAIN_SHARE;
        let fits = room.as_nanos() / pacer.answer.as_nanos().max(1);
        let count = u32::try_from(fits).unwrap_or(u32::MAX).max(1).min(call.again);
        let asked: Vec<NodeId> = self.after(self.asked_last).take(count as usize).collect();
        self.asked_last = asked.last().copied().unwrap_or(NodeId::NONE);
        asked.into_iter().collect()
    }

    /// All who are known, from the one after `last` on, once round.
    fn after(&self, last: NodeId) -> impl Iterator<Item = NodeId> {
        use core::ops::Bound::{Excluded, Unbounded};
        self.known.range((Excluded(last), Unbounded)).chain(self.known.range(..=last)).copied()
    }

    fn names(&mut self, fit: usize, but: &BTreeSet<NodeId>) -> Vec<NodeId> {
        let names = self.after(self.named_last).filter(|node| !but.contains(node));
        let names: Vec<NodeId> = names.take(fit).collect();
        self.named_last = names.last().copied().unwrap_or(NodeId::NONE);
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn roll_call() -> RollCaller {
        roll_of(None)
    }
    fn roll_of(awaited: Option<u32>) -> RollCaller {
        let mut roll_call = RollCaller::new();
        let content = b"who".to_vec();
        roll_call
            .set(Time::ZERO, Some(RollCalls { content, interval: ms(1000), awaited, again: 0 }));
        roll_call
    }
    fn pacer(backoff: u64, least: u64) -> CallTiming {
        CallTiming { backoff: ms(backoff), least: ms(least), answer: ms(16), alone: false }
    }

    #[test]
    fn the_roll_is_called_at_once_and_then_at_its_interval() {
        let mut roll_call = roll_call();
        assert_eq!(roll_call.due_at(), Some(Time::ZERO));
        roll_call.on_answer(NodeId(7));
        let round = roll_call.on_sent(Time::ZERO, pacer(200, 0), 10);
        let known = alloc::vec![NodeId(7)];
        assert_eq!(round, Round { spread: ms(200), known, given_up: 0 });
        assert_eq!(roll_call.due_at(), Some(Time::ZERO + ms(1000)));
        roll_call.set(Time::ZERO, None);
        assert_eq!(roll_call.due_at(), None);
    }

    #[test]
    fn a_slow_line_makes_calls_rarer_and_a_newcomer_is_called_at_once() {
        let mut roll_call = roll_call();
        roll_call.on_sent(Time::ZERO, pacer(80, 9000), 10);
        assert_eq!(roll_call.due_at(), Some(Time::ZERO + ms(9000)));
        roll_call.on_newcomer(Time::ZERO + ms(100));
        assert_eq!(roll_call.due_at(), Some(Time::ZERO + ms(100)));
    }

    #[test]
    fn a_few_expected_receivers_answer_soon_and_are_called_again_soon() {
        let mut roll_call = roll_of(Some(2));
        let mut next = || {
            let at = roll_call.due_at().unwrap();
            (at.since(Time::ZERO), roll_call.on_sent(at, pacer(500, 0), 10).spread)
        };
        // At 56 kbit/s an answer takes 16 ms: two of them, and as much again for each twice.
        assert_eq!(next(), (ms(0), ms(128)));
        assert_eq!(next(), (ms(100), ms(128)));
        assert_eq!(next(), (ms(300), ms(128)));
        roll_call.on_answer(NodeId(7));
        let at = roll_call.due_at().unwrap();
        assert_eq!(
            (at, roll_call.on_sent(at, pacer(500, 0), 10).spread),
            (Time::ZERO + ms(700), ms(64))
        );
        roll_call.on_answer(NodeId(8));
        let at = roll_call.due_at().unwrap();
        assert_eq!(roll_call.on_sent(at, pacer(500, 0), 10).spread, ms(500));
        assert_eq!(roll_call.due_at(), Some(at + ms(4000)));
    }

    #[test]
    fn an_unknown_number_of_receivers_is_taken_as_a_few_until_more_answer() {
        let mut roll_call = roll_call();
        let pacer = |answer| CallTiming { answer: ms(answer), ..pacer(1000, 0) };
        // An answer takes 2 ms at 448 kbit/s, 16 at 56, and less than a tenth on a LAN.
        assert_eq!(roll_call.on_sent(Time::ZERO, pacer(2), 10).spread, ms(24));
        assert_eq!(
            roll_call.on_sent(Time::ZERO, pacer(16), 10).spread,
            ms(1000),
            "as ever on a radio"
        );
        assert_eq!(roll_call.on_sent(Time::ZERO, pacer(0), 10).spread, ms(10));
        (0..13).for_each(|node| roll_call.on_answer(NodeId(node)));
        assert_eq!(roll_call.on_sent(Time::ZERO, pacer(2), 10).spread, ms(48));
        assert_eq!(roll_call.on_sent(Time::ZERO, pacer(2), 10).spread, ms(24));
    }

    #[test]
    fn the_one_receiver_of_a_unicast_session_answers_at_once() {
        let pacer = CallTiming { alone: true, ..pacer(0, 0) };
        assert_eq!(roll_call().on_sent(Time::ZERO, pacer, 10).spread, Duration::ZERO);
        assert_eq!(roll_of(Some(1)).on_sent(Time::ZERO, pacer, 10).spread, Duration::ZERO);
    }

    #[test]
    fn answers_are_due_after_the_spread_and_a_round_trip_with_some_margin() {
        let mut roll_call = roll_call();
        let pacer = CallTiming { answer: ms(2), ..pacer(1000, 0) };
        let by = |roll_call: &RollCaller, now, rtt| {
            roll_call.answered_by(Time::ZERO + ms(now), ms(rtt), pacer)
        };
        let at = |millis| Some(Time::ZERO + ms(millis));
        assert_eq!(by(&roll_call, 7, 1), at(7 + 24 + 1 + 3), "the call goes out now");
        roll_call.on_sent(Time::ZERO, pacer, 10);
        assert_eq!(by(&roll_call, 9, 1), at(24 + 1 + 3));
        assert_eq!(by(&roll_call, 310, 300), at(24 + 300 + 300));
        roll_call.on_sent(Time::ZERO + ms(500), pacer, 10);
        assert_eq!(
            by(&roll_call, 610, 600),
            at(10 + 24 + 600 + 600),
            "that answers the first call"
        );
        roll_call.set(Time::ZERO, None);
        assert_eq!(by(&roll_call, 9, 1), None);
    }

    #[test]
    fn many_expected_receivers_are_spread_as_if_their_number_were_unknown() {
        let mut roll_call = roll_of(Some(1000));
        assert_eq!(roll_call.on_sent(Time::ZERO, pacer(500, 0), 10).spread, ms(500));
        assert_eq!(roll_call.due_at(), Some(Time::ZERO + ms(1000)));
    }

    #[test]
    fn many_answers_in_a_round_widen_the_next_one() {
        let mut roll_call = roll_call();
        (0..40).for_each(|node| roll_call.on_answer(NodeId(node)));
        assert_eq!(roll_call.on_sent(Time::ZERO, pacer(0, 0), 10).spread, ms(100));
        assert_eq!(roll_call.on_sent(Time::ZERO, pacer(0, 0), 10).spread, ms(50));
    }

    #[test]
    fn an_evicted_receiver_is_listed_in_three_calls_at_once_and_then_in_every_call() {
        let mut roll_call = roll_call();
        roll_call.on_answer(NodeId(3));
        roll_call.on_answer(NodeId(7));
        roll_call.on_sent(Time::ZERO, pacer(80, 0), 10);
        roll_call.give_up(Time::ZERO + ms(5), NodeId(7));
        let calls: Vec<(Time, Round)> = (0..5)
            .map(|_| {
                roll_call
                    .due_at()
                    .map(|at| (at, roll_call.on_sent(at, pacer(80, 2000), 10)))
                    .unwrap()
            })
            .collect();
        let at: Vec<Time> = calls.iter().map(|(at, _)| *at).collect();
        let expected = [5, 85, 165, 245, 2245].map(|millis| Time::ZERO + ms(millis));
        assert_eq!(at, expected);
        assert!(calls.iter().all(|(_, round)| round.known == [NodeId(7), NodeId(3)]));
        assert!(calls.iter().all(|(_, round)| round.given_up == 1));
    }

    #[test]
    fn who_is_given_up_and_goes_on_asking_is_told_again_twice_a_second() {
        let mut roll_call = roll_call();
        roll_call.give_up(Time::ZERO, NodeId(7));
        let mut at = Time::ZERO;
        for _ in 0..5 {
            at = roll_call.due_at().unwrap();
            roll_call.on_sent(at, pacer(80, 2000), 10);
        }
        let last = at;
        roll_call.on_given_up(last + ms(499));
        assert!(roll_call.due_at().unwrap() > last + ms(1000));
        roll_call.on_given_up(last + ms(500));
        assert_eq!(roll_call.due_at(), Some(last + ms(500)));
    }

    #[test]
    fn those_who_have_answered_are_asked_again_in_turn_and_not_more_than_the_rate_allows() {
        let asked = |answer: u64| {
            let mut roll_call = RollCaller::new();
            let (content, awaited) = (Vec::new(), Some(5));
            let calls = RollCalls { content, interval: ms(2000), awaited, again: 3 };
            roll_call.set(Time::ZERO, Some(calls));
            (1..=5).for_each(|node| roll_call.on_answer(NodeId(node)));
            let pacer = CallTiming { answer: ms(answer), ..pacer(0, 0) };
            let mut names = || -> Vec<u32> {
                let at = roll_call.due_at().unwrap();
                roll_call.on_sent(at, pacer, 10).known.iter().map(|node| node.0).collect()
            };
            let named = [names(), names()];
            assert_eq!(roll_call.due_at(), Some(Time::ZERO + ms(4000)), "as often as told");
            named
        };
        assert_eq!(asked(1), [alloc::vec![4, 5], alloc::vec![2, 3]]);
        assert_eq!(asked(16)[0].len(), 4, "20 ms of two seconds are room for one answer");
        assert_eq!(asked(500)[0].len(), 4, "one is always asked");
    }

    #[test]
    fn names_that_do_not_fit_are_listed_in_turn() {
        let mut roll_call = roll_call();
        (1..=5).for_each(|node| roll_call.on_answer(NodeId(node)));
        let mut names = |_| roll_call.on_sent(Time::ZERO, pacer(0, 0), 3).known;
        assert_eq!(names(0), [NodeId(1), NodeId(2), NodeId(3)]);
        assert_eq!(names(1), [NodeId(4), NodeId(5), NodeId(1)]);
    }
}
