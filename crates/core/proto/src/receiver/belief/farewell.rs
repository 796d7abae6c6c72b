//! CMD(EOT): the sender leaves. A receiver that lacks nothing believes the second one, a GRTT after
//! the first. Each believes one when it hears nothing that was sent later for some time after: silence
//! proves more than repetition, and the second may be lost. One that lacks something believes no other.

use fanfare_wire::Sequence;

use crate::time::{Duration, Time};

/// A sender at work is heard again within this time: it sends data, or flushes, or calls the roll.
/// Who lacks something then has lost it all the same, so that waiting costs nothing but time.
const SILENCE: Duration = Duration::from_secs(2);
/// Messages of before the farewell may come after it, where others pass on what the sender has sent, or two
/// ways are of unequal length. More than so many are not on the way at once.
const LATE_MAX: i32 = 1024;

/// Waits for a farewell to prove true.
#[derive(Debug, Default)]
pub(crate) struct Farewell {
    first: Option<Time>,
    leaves: Option<Time>,
    /// Number of the last CMD(EOT), where nothing is lacking.
    end: Option<Sequence>,
}

impl Farewell {
    /// CMD(EOT) was heard, the message of this number. `lacking`: something would be given up. True when
    /// it counts at once.
    pub(crate) fn on_end(
        &mut self,
        now: Time,
        sequence: Sequence,
        grtt: Duration,
        lacking: bool,
    ) -> bool {
        let first = *self.first.get_or_insert(now);
        self.end = (!lacking).then_some(sequence);
        if lacking {
            self.leaves.get_or_insert(now + SILENCE);
            return false;
        }
        let confirmed = now > first && now.since(first) >= grtt;
        if confirmed {
            self.settle();
        } else {
            self.leaves.get_or_insert(now + SILENCE.max(grtt));
        }
        confirmed
    }

    /// Another message of the sender was heard, of this number. True when it has not left: what was sent
    /// before the farewell, and comes late, says nothing of it.
    pub(crate) fn on_other(&mut self, sequence: Sequence) -> bool {
        let is_late = |end: Sequence| (1..=LATE_MAX).contains(&sequence.distance_to(end));
        if self.end.is_some_and(is_late) {
            return false;
        }
        *self = Self::default();
        true
    }

    fn settle(&mut self) {
        (self.first, self.leaves) = (None, None);
    }

    /// Whether it counts now.
    pub(crate) fn on_timeout(&mut self, now: Time) -> bool {
        let over = self.leaves.is_some_and(|at| at <= now);
        if over {
            self.settle();
        }
        over
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    const GRTT: Duration = Duration::from_millis(1);

    #[test]
    fn who_lacks_nothing_believes_the_second_and_who_lacks_something_waits() {
        let mut farewell = Farewell::default();
        assert!(!farewell.on_end(at(0), Sequence(7), GRTT, false));
        assert!(farewell.on_end(at(1), Sequence(7), GRTT, false));
        assert!(!farewell.on_end(at(10), Sequence(7), GRTT, true));
        assert!(!farewell.on_end(at(20), Sequence(7), GRTT, true), "the first counts");
        assert!(!farewell.on_timeout(at(2_009)) && farewell.on_timeout(at(2_010)));
        assert_eq!(farewell.next_timeout(), None);
    }

    #[test]
    fn who_lacks_nothing_and_misses_the_second_believes_the_silence_after_the_first() {
        let mut farewell = Farewell::default();
        assert!(!farewell.on_end(at(0), Sequence(7), GRTT, false));
        assert!(!farewell.on_timeout(at(1_999)) && farewell.on_timeout(at(2_000)));
        // What follows may have to wait as long as a round trip.
        let slow = Duration::from_secs(3);
        assert!(!farewell.on_end(at(5_000), Sequence(7), slow, false));
        assert!(!farewell.on_timeout(at(7_999)) && farewell.on_timeout(at(8_000)));
        assert!(!farewell.on_end(at(9_000), Sequence(7), GRTT, false));
        farewell.on_other(Sequence(8));
        assert!(!farewell.on_timeout(at(99_000)), "something else was heard");
    }

    #[test]
    fn what_was_sent_before_the_farewell_and_comes_late_does_not_deny_it() {
        let mut farewell = Farewell::default();
        assert!(!farewell.on_end(at(0), Sequence(7), GRTT, false));
        // Passed on by another receiver: 65,000 is 543 messages before 7.
        assert!(!farewell.on_other(Sequence(6)) && !farewell.on_other(Sequence(65_000)));
        assert!(farewell.on_end(at(1), Sequence(8), GRTT, false));
        assert!(!farewell.on_other(Sequence(6)), "it has left all the same");
        assert!(farewell.on_other(Sequence(9)), "it is back");
        assert!(farewell.on_other(Sequence(6)));
        // Who lacks something is to lose nothing by a number that was changed on the way.
        assert!(!farewell.on_end(at(10), Sequence(500), GRTT, true));
        assert!(farewell.on_other(Sequence(400)));
        assert!(!farewell.on_timeout(at(99_000)));
    }

    #[test]
    fn a_hundred_forged_ones_a_second_between_data_have_no_effect() {
        let mut farewell = Farewell::default();
        for ms in 0..10_000 {
            assert!(
                !farewell.on_end(at(ms), Sequence(7), GRTT, true) && !farewell.on_timeout(at(ms))
            );
            if ms % 500 == 0 {
                farewell.on_other(Sequence(8));
            }
        }
    }
}
