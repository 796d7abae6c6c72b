//! When to say hello: ahead of the first messages to an address and now and then, when somebody asks,
//! and when somebody is heard who is not known.

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use fanfare_wire::units::Time;

use crate::{hello::Question, packet::Form};

/// Addresses written to that are remembered; the one not written to for longest gives way.
const ADDRESSES: usize = 256;
/// Strangers are asked who they are no more often than this.
const ASK: Duration = Duration::from_secs(1);
/// Who answers waits for so long at least between two answers: 100 a second are 65 kbit/s.
const ANSWER: Duration = Duration::from_millis(10);
/// Answers that wait; others ask again.
const ANSWERS: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Address {
    to: SocketAddr,
    next: Time,
    interval: Duration,
}

/// The schedule of hellos.
#[derive(Debug)]
pub(crate) struct Greeting {
    /// First and longest time between two hellos to one address.
    intervals: (Duration, Duration),
    addresses: Vec<Address>,
    /// Whom to ask, and when it was asked last.
    stranger: Option<SocketAddr>,
    asked: Option<Time>,
    answers: VecDeque<(SocketAddr, Question)>,
    answered: Option<Time>,
}

impl Greeting {
    /// On radios a hello is as long as a message: it is said more rarely.
    pub(crate) fn new(form: Form) -> Self {
        let intervals = match form {
            Form::Long => (Duration::from_millis(50), Duration::from_secs(1)),
            Form::Short => (Duration::from_secs(1), Duration::from_secs(30)),
        };
        let (addresses, answers) = (Vec::new(), VecDeque::new());
        Self { intervals, addresses, stranger: None, asked: None, answers, answered: None }
    }

    /// Everybody has to be told again.
    pub(crate) fn begin_anew(&mut self) {
        self.addresses.clear();
    }

    /// Something is about to be sent there: whether a hello goes ahead.
    pub(crate) fn is_due(&mut self, now: Time, to: SocketAddr) -> bool {
        let (first, longest) = self.intervals;
        if let Some(address) = self.addresses.iter_mut().find(|address| address.to == to) {
            let due = address.next <= now;
            if due {
                address.next = now + address.interval;
                address.interval = (address.interval * 2).min(longest);
            }
            return due;
        }
        if self.addresses.len() >= ADDRESSES {
            let oldest = (0..self.addresses.len()).min_by_key(|n| self.addresses[*n].next);
            oldest.map(|n| self.addresses.swap_remove(n));
        }
        self.addresses.push(Address { to, next: now + first, interval: first * 2 });
        true
    }

    /// Something came from who is not known.
    pub(crate) fn on_stranger(&mut self, source: SocketAddr) {
        self.stranger = Some(source);
    }

    /// A hello of a member came from there.
    pub(crate) fn on_known(&mut self, source: SocketAddr) {
        self.stranger = self.stranger.filter(|stranger| *stranger != source);
    }

    /// A member wants to know who we are.
    pub(crate) fn on_asked(&mut self, source: SocketAddr, question: Question) {
        let asked = self.answers.iter().any(|(_, waiting)| *waiting == question);
        if !asked && self.answers.len() < ANSWERS {
            self.answers.push_back((source, question));
        }
    }

    /// A hello to be sent by itself: where to, whether it asks, and what it answers.
    pub(crate) fn poll(&mut self, now: Time) -> Option<(SocketAddr, bool, Question)> {
        if self.answered.is_none_or(|at| now.since(at) >= ANSWER)
            && let Some((to, question)) = self.answers.pop_front()
        {
            self.answered = Some(now);
            return Some((to, false, question));
        }
        if self.asked.is_none_or(|at| now.since(at) >= ASK)
            && let Some(to) = self.stranger.take()
        {
            self.asked = Some(now);
            return Some((to, true, Question::default()));
        }
        None
    }

    /// When [`Self::poll`] has something.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let answer =
            (!self.answers.is_empty()).then(|| self.answered.map_or(Time::ZERO, |at| at + ANSWER));
        let ask = self.stranger.map(|_| self.asked.map_or(Time::ZERO, |at| at + ASK));
        answer.into_iter().chain(ask).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn address(n: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, n], 6003))
    }

    #[test]
    fn a_hello_goes_ahead_of_the_first_message_and_then_more_rarely() {
        let mut greeting = Greeting::new(Form::Long);
        let due = |millis: &u64| greeting.is_due(at(*millis), address(1));
        let said: Vec<u64> = (0..4000).filter(due).collect();
        assert_eq!(said, [0, 50, 150, 350, 750, 1550, 2550, 3550]);
        assert!(greeting.is_due(at(4000), address(2)), "it is new there");
    }

    #[test]
    fn strangers_are_asked_once_a_second_and_members_answered_at_once() {
        let mut greeting = Greeting::new(Form::Long);
        greeting.on_stranger(address(1));
        assert_eq!(greeting.poll(at(0)), Some((address(1), true, [0; 8])));
        greeting.on_stranger(address(1));
        assert_eq!((greeting.poll(at(999)), greeting.next_timeout()), (None, Some(at(1000))));
        greeting.on_known(address(1));
        assert_eq!((greeting.poll(at(1000)), greeting.next_timeout()), (None, None));
        (1..=100).for_each(|n| greeting.on_asked(address(n), [n; 8]));
        let answers = (1000..3000).filter(|millis| greeting.poll(at(*millis)).is_some());
        assert_eq!(answers.count(), ANSWERS);
    }
}
