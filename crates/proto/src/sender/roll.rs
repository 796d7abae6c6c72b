//! When the roll is called, and who has answered (see [`crate::roll_call`]).

use crate::time::{Duration, Time};
use alloc::{collections::BTreeSet, vec::Vec};
use fanfare_wire::NodeId;

/// Answers are spread over at least this time.
const SPREAD_MIN: Duration = Duration::from_millis(50);
/// More answers than this in one round, and the next round spreads them wider.
const ROUND_ANSWERS: u32 = 32;
/// Widest spread, as a multiple of the narrowest.
const SCALE_MAX: u32 = 64;
/// Receivers remembered as known.
const KNOWN_MAX: usize = 4096;
/// Receivers told that they are given up; each call has a byte for their number.
const GIVEN_UP_MAX: usize = 255;
/// Calls in quick succession for those just given up: two must arrive to be believed.
const URGENT_CALLS: u8 = 3;

#[derive(Debug)]
struct Call {
    content: Vec<u8>,
    interval: Duration,
    next: Time,
}

/// The roll-calling machine.
#[derive(Debug)]
pub(super) struct Roll {
    call: Option<Call>,
    known: BTreeSet<NodeId>,
    given_up: Vec<NodeId>,
    urgent: u8,
    /// First answers since the last call.
    answers: u32,
    scale: u32,
    /// The last node named: lists that do not fit go round.
    named_last: NodeId,
}

/// One call to be encoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) spread: Duration,
    pub(super) known: Vec<NodeId>,
    /// The first so many of them are given up.
    pub(super) given_up: usize,
}

impl Roll {
    pub(super) fn new() -> Self {
        let (known, named_last) = (BTreeSet::new(), NodeId::NONE);
        let (given_up, urgent) = (Vec::new(), 0);
        Self { call: None, known, given_up, urgent, answers: 0, scale: 1, named_last }
    }

    /// Calls every `interval` with the content from now on, or no more.
    pub(super) fn set(&mut self, now: Time, call: Option<(Vec<u8>, Duration)>) {
        self.call = call.map(|(content, interval)| Call {
            content,
            interval: interval.max(SPREAD_MIN),
            next: now,
        });
    }

    pub(super) fn is_on(&self) -> bool {
        self.call.is_some()
    }

    pub(super) fn content(&self) -> &[u8] {
        self.call.as_ref().map_or(&[], |call| &call.content)
    }

    /// A receiver told its status: it need not answer again.
    pub(super) fn on_answer(&mut self, node: NodeId) {
        if self.known.len() < KNOWN_MAX && self.known.insert(node) {
            self.answers += 1;
        }
    }

    /// Somebody is heard who may not have answered: the next call is now.
    pub(super) fn on_newcomer(&mut self, now: Time) {
        if let Some(call) = &mut self.call {
            call.next = call.next.min(now);
        }
    }

    /// A receiver is no longer served, and shall know it soon.
    pub(super) fn give_up(&mut self, now: Time, node: NodeId) {
        self.known.remove(&node);
        if self.given_up.len() < GIVEN_UP_MAX && !self.given_up.contains(&node) {
            self.given_up.push(node);
            self.urgent = URGENT_CALLS;
            if let Some(call) = &mut self.call {
                call.next = call.next.min(now);
            }
        }
    }

    pub(super) fn due_at(&self) -> Option<Time> {
        self.call.as_ref().map(|call| call.next)
    }

    /// A call goes out; at most `fit` receivers can be named in it. `backoff` is K * GRTT; the next
    /// follows after `least` at the soonest, unless somebody is to be told that he is given up.
    pub(super) fn on_sent(
        &mut self,
        now: Time,
        (backoff, least): (Duration, Duration),
        fit: usize,
    ) -> Round {
        self.scale = if self.answers > ROUND_ANSWERS {
            (self.scale * 2).min(SCALE_MAX)
        } else {
            (self.scale / 2).max(1)
        };
        self.answers = 0;
        let urgent = self.urgent > 0;
        self.urgent = self.urgent.saturating_sub(1);
        let interval = self.call.as_mut().map_or(SPREAD_MIN, |call| {
            let soon = backoff.max(SPREAD_MIN).min(call.interval);
            call.next = now + if urgent { soon } else { call.interval.max(least) };
            call.interval
        });
        let spread = (backoff.max(SPREAD_MIN) * self.scale).min(interval);
        let mut known: Vec<NodeId> = self.given_up.iter().take(fit).copied().collect();
        let given_up = known.len();
        known.extend(self.names(fit - given_up));
        Round { spread, known, given_up }
    }

    fn names(&mut self, fit: usize) -> Vec<NodeId> {
        use core::ops::Bound::{Excluded, Unbounded};
        let after = self.known.range((Excluded(self.named_last), Unbounded));
        let before = self.known.range(..=self.named_last);
        let names: Vec<NodeId> = after.chain(before).take(fit).copied().collect();
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

    fn roll() -> Roll {
        let mut roll = Roll::new();
        roll.set(Time::ZERO, Some((b"who".to_vec(), ms(1000))));
        roll
    }

    #[test]
    fn the_roll_is_called_at_once_and_then_at_its_interval() {
        let mut roll = roll();
        assert_eq!(roll.due_at(), Some(Time::ZERO));
        roll.on_answer(NodeId(7));
        let round = roll.on_sent(Time::ZERO, (ms(200), ms(0)), 10);
        let known = alloc::vec![NodeId(7)];
        assert_eq!(round, Round { spread: ms(200), known, given_up: 0 });
        assert_eq!(roll.due_at(), Some(Time::ZERO + ms(1000)));
        roll.set(Time::ZERO, None);
        assert_eq!(roll.due_at(), None);
    }

    #[test]
    fn a_slow_line_makes_calls_rarer_and_a_newcomer_is_called_at_once() {
        let mut roll = roll();
        roll.on_sent(Time::ZERO, (ms(80), ms(9000)), 10);
        assert_eq!(roll.due_at(), Some(Time::ZERO + ms(9000)));
        roll.on_newcomer(Time::ZERO + ms(100));
        assert_eq!(roll.due_at(), Some(Time::ZERO + ms(100)));
    }

    #[test]
    fn many_answers_in_a_round_widen_the_next_one() {
        let mut roll = roll();
        (0..40).for_each(|node| roll.on_answer(NodeId(node)));
        assert_eq!(roll.on_sent(Time::ZERO, (ms(0), ms(0)), 10).spread, ms(100));
        assert_eq!(roll.on_sent(Time::ZERO, (ms(0), ms(0)), 10).spread, ms(50));
    }

    #[test]
    fn who_is_given_up_is_told_three_times_at_once_and_then_with_every_call() {
        let mut roll = roll();
        roll.on_answer(NodeId(3));
        roll.on_answer(NodeId(7));
        roll.on_sent(Time::ZERO, (ms(80), ms(0)), 10);
        roll.give_up(Time::ZERO + ms(5), NodeId(7));
        let calls: Vec<(Time, Round)> = (0..5)
            .map(|_| {
                roll.due_at().map(|at| (at, roll.on_sent(at, (ms(80), ms(2000)), 10))).unwrap()
            })
            .collect();
        let at: Vec<Time> = calls.iter().map(|(at, _)| *at).collect();
        let expected = [5, 85, 165, 245, 2245].map(|millis| Time::ZERO + ms(millis));
        assert_eq!(at, expected);
        assert!(calls.iter().all(|(_, round)| round.known == [NodeId(7), NodeId(3)]));
        assert!(calls.iter().all(|(_, round)| round.given_up == 1));
    }

    #[test]
    fn names_that_do_not_fit_go_round() {
        let mut roll = roll();
        (1..=5).for_each(|node| roll.on_answer(NodeId(node)));
        let mut names = |_| roll.on_sent(Time::ZERO, (ms(0), ms(0)), 3).known;
        assert_eq!(names(0), [NodeId(1), NodeId(2), NodeId(3)]);
        assert_eq!(names(1), [NodeId(4), NodeId(5), NodeId(1)]);
    }
}
