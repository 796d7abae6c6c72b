//! The flush at the end of transmission (RFC 5740 5.1): it tells receivers that no more data comes,
//! and makes them request what is missing.

use crate::time::{Duration, Time};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was sent since the last flush ended.
    Done,
    /// `left` flushes are to come, the next at `next`.
    Flushing { left: u32, next: Time },
    /// The last has gone; until then a receiver may ask.
    Lingering { until: Time },
}

/// The flushing machine.
#[derive(Debug)]
pub(in crate::sender) struct Flush {
    robust: u32,
    state: State,
    /// Flushes since something was sent that went before receivers could answer.
    early: u32,
}

impl Flush {
    /// A flush of `robust` messages (NORM_ROBUST_FACTOR; at least 1).
    pub(in crate::sender) fn new(robust: u32) -> Self {
        Self { robust: robust.max(1), state: State::Done, early: 0 }
    }

    /// So many messages each from now on.
    pub(in crate::sender) fn set_robust(&mut self, robust: u32) {
        self.robust = robust.max(1);
    }

    /// DATA or INFO went out: the count starts again, once there is nothing more to send.
    pub(in crate::sender) fn on_sent(&mut self, now: Time) {
        self.state = State::Flushing { left: self.robust, next: now };
        self.early = 0;
    }

    /// The first flush of those to come waits until `until`: more may follow before.
    pub(in crate::sender) fn delay(&mut self, until: Time) {
        if let State::Flushing { next, .. } = &mut self.state {
            *next = (*next).max(until);
        }
    }

    /// What went out needs no flush of its own: it ends `interval` later, as if flushed. One that is
    /// under way goes on.
    pub(in crate::sender) fn on_sent_unflushed(&mut self, now: Time, interval: Duration) {
        match self.state {
            State::Flushing { .. } => self.on_sent(now),
            State::Done | State::Lingering { .. } => {
                self.state = State::Lingering { until: now + interval };
            }
        }
    }

    /// Somebody new listens, who may have heard none of the last flush: it goes again.
    pub(in crate::sender) fn on_newcomer(&mut self, now: Time) {
        if self.state == State::Done {
            self.on_sent(now);
        }
    }

    /// Somebody still asks, and will be served later: as many flushes are to come as at first.
    pub(in crate::sender) fn renew(&mut self, now: Time) {
        match &mut self.state {
            State::Flushing { left, .. } => *left = self.robust,
            State::Done | State::Lingering { .. } => self.on_sent(now),
        }
    }

    /// There is nothing left that could be flushed.
    pub(in crate::sender) fn abandon(&mut self) {
        self.state = State::Done;
    }

    /// When the next flush is due, if nothing else is to be sent.
    pub(in crate::sender) fn due_at(&self) -> Option<Time> {
        match self.state {
            State::Flushing { next, .. } => Some(next),
            State::Done | State::Lingering { .. } => None,
        }
    }

    /// Flushes since something was sent, whether they count or not.
    pub(in crate::sender) fn sent(&self) -> u32 {
        match self.state {
            State::Flushing { left, .. } => self.robust.saturating_sub(left) + self.early,
            State::Done | State::Lingering { .. } => self.robust,
        }
    }

    /// A flush that names the end of transmission goes out; the next may follow in `interval`.
    /// Before `answerable_from` receivers may be unable to answer: it does not count.
    pub(in crate::sender) fn on_flushed(
        &mut self,
        now: Time,
        interval: Duration,
        answerable_from: Time,
    ) {
        let State::Flushing { left, .. } = self.state else { return };
        let next = now + interval;
        self.early += u32::from(now < answerable_from);
        self.state = match left {
            _ if now < answerable_from => State::Flushing { left, next },
            0 | 1 => State::Lingering { until: next },
            _ => State::Flushing { left: left - 1, next },
        };
    }

    /// True once, when the flush has ended.
    pub(in crate::sender) fn poll_done(&mut self, now: Time) -> bool {
        let done = self.next_timeout().is_some_and(|until| until <= now);
        if done {
            self.state = State::Done;
        }
        done
    }

    /// Whether the end of transmission has been flushed, or nothing was sent.
    pub(in crate::sender) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// When the flush ends.
    pub(in crate::sender) fn next_timeout(&self) -> Option<Time> {
        match self.state {
            State::Lingering { until } => Some(until),
            State::Done | State::Flushing { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(20);

    fn run(flush: &mut Flush, mut now: Time) -> (u32, Time) {
        let mut count = 0;
        while let Some(at) = flush.due_at() {
            now = now.max(at);
            flush.on_flushed(now, INTERVAL, Time::ZERO);
            count += 1;
        }
        (count, now)
    }

    #[test]
    fn a_flush_that_goes_before_anybody_can_answer_does_not_count_but_is_told() {
        let (mut flush, later) = (Flush::new(3), Time::ZERO + INTERVAL);
        flush.on_sent(Time::ZERO);
        flush.on_flushed(Time::ZERO, INTERVAL, later);
        assert_eq!(flush.sent(), 1);
        assert_eq!(run(&mut flush, later).0, 3);
    }

    #[test]
    fn nothing_is_flushed_when_nothing_was_sent() {
        let flush = Flush::new(3);
        assert!(flush.is_done() && flush.due_at().is_none());
    }

    #[test]
    fn a_flush_is_repeated_robust_factor_times_and_ends_once() {
        let mut flush = Flush::new(3);
        flush.on_sent(Time::ZERO);
        let (count, last) = run(&mut flush, Time::ZERO);
        assert_eq!((count, last), (3, Time::ZERO + INTERVAL * 2));
        let end = flush.next_timeout().unwrap();
        assert_eq!(end, last + INTERVAL);
        assert!(!flush.poll_done(last) && flush.poll_done(end) && !flush.poll_done(end));
    }

    #[test]
    fn an_object_that_needs_no_flush_ends_as_if_flushed_and_does_not_disturb_a_running_flush() {
        let mut flush = Flush::new(2);
        flush.on_sent_unflushed(Time::ZERO, INTERVAL);
        assert_eq!((flush.due_at(), flush.is_done()), (None, false));
        assert!(flush.poll_done(Time::ZERO + INTERVAL) && flush.is_done());
        flush.on_sent(Time::ZERO);
        flush.on_sent_unflushed(Time::ZERO, INTERVAL);
        assert_eq!(run(&mut flush, Time::ZERO).0, 2);
    }

    #[test]
    fn a_new_receiver_gets_its_own_flush_but_does_not_prolong_a_running_one() {
        let mut flush = Flush::new(2);
        flush.on_newcomer(Time::ZERO);
        flush.on_flushed(Time::ZERO, Duration::from_millis(10), Time::ZERO);
        flush.on_newcomer(Time::ZERO);
        assert_eq!(run(&mut flush, Time::from_nanos(10_000_000)).0, 1);
    }

    #[test]
    fn a_flush_that_is_renewed_keeps_its_pace() {
        let mut flush = Flush::new(3);
        flush.on_sent(Time::ZERO);
        flush.on_flushed(Time::ZERO, INTERVAL, Time::ZERO);
        flush.renew(Time::ZERO);
        assert_eq!(flush.due_at(), Some(Time::ZERO + INTERVAL));
        assert_eq!(run(&mut flush, Time::ZERO).0, 3);
        flush.renew(Time::ZERO + INTERVAL);
        assert_eq!(flush.due_at(), Some(Time::ZERO + INTERVAL), "after the end it begins anew");
    }

    #[test]
    fn a_repair_restarts_the_count() {
        let mut flush = Flush::new(3);
        flush.on_sent(Time::ZERO);
        flush.on_flushed(Time::ZERO, INTERVAL, Time::ZERO);
        flush.on_sent(Time::ZERO + INTERVAL);
        assert_eq!(run(&mut flush, Time::ZERO).0, 3);
    }
}
