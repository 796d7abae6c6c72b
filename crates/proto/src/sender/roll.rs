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
}

impl Roll {
    pub(super) fn new() -> Self {
        let (known, named_last) = (BTreeSet::new(), NodeId::NONE);
        Self { call: None, known, answers: 0, scale: 1, named_last }
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

    pub(super) fn due_at(&self) -> Option<Time> {
        self.call.as_ref().map(|call| call.next)
    }

    /// A call goes out; at most `fit` receivers can be named in it. `backoff` is K * GRTT.
    pub(super) fn on_sent(&mut self, now: Time, backoff: Duration, fit: usize) -> Round {
        self.scale = if self.answers > ROUND_ANSWERS {
            (self.scale * 2).min(SCALE_MAX)
        } else {
            (self.scale / 2).max(1)
        };
        self.answers = 0;
        let interval = self.call.as_mut().map_or(SPREAD_MIN, |call| {
            call.next = now + call.interval;
            call.interval
        });
        let spread = (backoff.max(SPREAD_MIN) * self.scale).min(interval);
        Round { spread, known: self.names(fit) }
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
        let round = roll.on_sent(Time::ZERO, ms(200), 10);
        assert_eq!(round, Round { spread: ms(200), known: alloc::vec![NodeId(7)] });
        assert_eq!(roll.due_at(), Some(Time::ZERO + ms(1000)));
        roll.set(Time::ZERO, None);
        assert_eq!(roll.due_at(), None);
    }

    #[test]
    fn many_answers_in_a_round_widen_the_next_one() {
        let mut roll = roll();
        (0..40).for_each(|node| roll.on_answer(NodeId(node)));
        assert_eq!(roll.on_sent(Time::ZERO, ms(0), 10).spread, ms(100));
        assert_eq!(roll.on_sent(Time::ZERO, ms(0), 10).spread, ms(50));
    }

    #[test]
    fn names_that_do_not_fit_go_round() {
        let mut roll = roll();
        (1..=5).for_each(|node| roll.on_answer(NodeId(node)));
        let mut names = |_| roll.on_sent(Time::ZERO, ms(0), 3).known;
        assert_eq!(names(0), [NodeId(1), NodeId(2), NodeId(3)]);
        assert_eq!(names(1), [NodeId(4), NodeId(5), NodeId(1)]);
    }
}
