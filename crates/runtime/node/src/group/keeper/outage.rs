//! A disk that refuses: from its first refusal until it has taken everything for a while.

use std::time::{Duration, Instant};

/// How often what waits is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// So long nothing may be refused before it is over: on a disk that is nearly full short messages
/// find room where long ones do not.
const CALM: Duration = Duration::from_secs(2);

/// Whether the disk refuses, and when to try again.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// The last refusal, while it is on.
    refused: Option<Instant>,
    next: Option<Instant>,
    /// Something was written since.
    taken: bool,
}

impl Outage {
    pub(super) fn is_on(&self) -> bool {
        self.refused.is_some()
    }

    /// The disk has refused something.
    pub(super) fn on_refused(&mut self, now: Instant) {
        (self.refused, self.next, self.taken) = (Some(now), Some(now + RETRY), false);
    }

    /// It has taken something.
    pub(super) fn on_taken(&mut self) {
        self.taken = self.is_on();
    }

    /// When to look again.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// Whether it is time to try what waits.
    pub(super) fn poll_retry(&mut self, now: Instant) -> bool {
        let due = self.next.is_some_and(|next| next <= now);
        if due {
            self.next = Some(now + RETRY);
        }
        due
    }

    /// Whether it has just ended; `waiting`: something is still to be written.
    pub(super) fn poll_over(&mut self, now: Instant, waiting: bool) -> bool {
        let calm = self.refused.is_some_and(|refused| now >= refused + CALM);
        let over = calm && self.taken && !waiting;
        if over {
            *self = Self::default();
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_when_all_was_taken_and_nothing_refused_for_a_while() {
        let (begin, mut outage) = (Instant::now(), Outage::default());
        assert!(!outage.is_on() && !outage.poll_retry(begin) && !outage.poll_over(begin, false));
        outage.on_refused(begin);
        assert!(!outage.poll_retry(begin) && outage.poll_retry(begin + RETRY));
        assert_eq!(outage.next_timeout(), Some(begin + RETRY * 2));
        let calm = begin + CALM;
        assert!(!outage.poll_over(calm, false), "nothing says that there is room");
        outage.on_taken();
        assert!(!outage.poll_over(calm, true) && outage.is_on(), "something waits");
        assert!(outage.poll_over(calm, false) && !outage.is_on());
        assert_eq!(outage.next_timeout(), None);
    }

    #[test]
    fn short_messages_that_find_room_between_long_ones_that_do_not_end_nothing() {
        let (mut now, mut outage) = (Instant::now(), Outage::default());
        for _ in 0..10 {
            outage.on_refused(now);
            outage.on_taken();
            now += CALM / 2;
            assert!(!outage.poll_over(now, false));
        }
    }
}
