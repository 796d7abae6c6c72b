//! CMD(EOT): the sender says good-bye, a few times (RFC 5740 4.2.3.2).
//!
//! Nobody confirms it, and a receiver believes it only when it comes twice, at least a GRTT apart.
//! A receiver that misses it waits longer for the sender, but no data is missing.

use crate::time::{Duration, Time};

/// Repetitions where somebody may lose some of them.
const COUNT: u32 = 5;
/// Where all have everything and lose next to nothing: two, twice. Only both of a pair lost cost somebody
/// a wait.
const COUNT_SHORT: u32 = 4;
/// The longest time between two: programs leave after two seconds. Where a GRTT is longer, receivers go by the silence.
const APART_MAX: Duration = Duration::from_millis(1800);
/// From one of a pair to the other: what loses one in a burst may pass.
const PAIR: Duration = Duration::from_millis(10);

/// The leaving machine.
#[derive(Debug, Default)]
pub(in crate::sender) struct Eot {
    asked: bool,
    /// All who are known have everything.
    short: bool,
    /// There is a queue, which drains meanwhile.
    queued: bool,
    sent: u32,
    next: Time,
}

impl Eot {
    /// The driver wants to leave. `short`: all who are known have said that they have everything, and
    /// lose next to nothing. `queued`: messages wait in a queue of up to a GRTT. It drains while nothing but good-byes
    /// is sent, so that they arrive closer together than they went.
    pub(in crate::sender) fn ask(&mut self, short: bool, queued: bool) {
        self.asked = true;
        (self.short, self.queued) = (short, queued);
    }

    pub(in crate::sender) fn is_asked(&self) -> bool {
        self.asked
    }

    /// The first has been sent: nothing else is from now on.
    pub(in crate::sender) fn has_begun(&self) -> bool {
        self.sent > 0
    }

    /// Not requested, or all sent.
    pub(in crate::sender) fn is_done(&self) -> bool {
        !self.asked || self.sent >= if self.short { COUNT_SHORT } else { COUNT }
    }

    /// When the next is due, once all else is done.
    pub(in crate::sender) fn due_at(&self) -> Option<Time> {
        (!self.is_done()).then_some(self.next)
    }

    pub(in crate::sender) fn on_sent(&mut self, now: Time, grtt: Duration) {
        self.sent += 1;
        // A quarter more than a GRTT: with no slack, jitter brings two of them too close together.
        let apart = grtt + grtt / 4 + if self.queued { grtt } else { Duration::ZERO };
        let apart = apart.min(if self.short { APART_MAX } else { APART_MAX / COUNT });
        let pair = PAIR.min(grtt / 4);
        self.next = now
            + match self.short {
                true if self.sent % 2 == 1 => pair,
                true => apart - pair,
                false => apart,
            };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRTT: Duration = Duration::from_millis(100);

    fn times(short: bool, queued: bool) -> alloc::vec::Vec<u64> {
        let mut eot = Eot::default();
        assert!(eot.due_at().is_none() && eot.is_done());
        eot.ask(short, queued);
        let mut times = alloc::vec::Vec::new();
        while let Some(at) = eot.due_at() {
            eot.on_sent(at, GRTT);
            times.push(at.as_nanos() / 1_000_000);
        }
        assert!(eot.has_begun() && eot.is_done());
        times
    }

    #[test]
    fn good_bye_is_said_five_times_more_than_a_grtt_apart() {
        assert_eq!(times(false, false), [0, 125, 250, 375, 500]);
    }

    #[test]
    fn receivers_that_have_everything_get_the_good_bye_in_two_pairs_more_than_a_grtt_apart() {
        assert_eq!(times(true, false), [0, 10, 125, 135]);
    }

    #[test]
    fn where_a_queue_drains_meanwhile_they_go_a_grtt_further_apart() {
        assert_eq!(times(true, true), [0, 10, 225, 235]);
    }
}
