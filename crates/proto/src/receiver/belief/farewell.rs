//! CMD(EOT): the sender leaves. A receiver that lacks nothing believes the second one, a GRTT after
//! the first. Each believes one when it hears nothing else of the sender for some time after: silence proves
//! more than repetition, and the second may be lost. One that lacks something believes no other.

use crate::time::{Duration, Time};

/// A sender at work is heard again within this time: it sends data, or flushes, or calls the roll.
/// Who lacks something then has lost it all the same, so that waiting costs nothing but time.
const SILENCE: Duration = Duration::from_secs(2);
/// Waits for a farewell to prove true.
#[derive(Debug, Default)]
pub(crate) struct Farewell {
    first: Option<Time>,
    leaves: Option<Time>,
}

impl Farewell {
    /// CMD(EOT) was heard. `lacking`: something would be given up. True when it counts at once.
    pub(crate) fn on_end(&mut self, now: Time, grtt: Duration, lacking: bool) -> bool {
        let first = *self.first.get_or_insert(now);
        if lacking {
            self.leaves.get_or_insert(now + SILENCE);
            return false;
        }
        let confirmed = now > first && now.since(first) >= grtt;
        if confirmed {
            *self = Self::default();
        } else {
            self.leaves.get_or_insert(now + SILENCE.max(grtt));
        }
        confirmed
    }

    /// Anything else of the sender was heard.
    pub(crate) fn contradict(&mut self) {
        *self = Self::default();
    }

    /// Whether it counts now.
    pub(crate) fn on_timeout(&mut self, now: Time) -> bool {
        let over = self.leaves.is_some_and(|at| at <= now);
        if over {
            *self = Self::default();
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
        assert!(!farewell.on_end(at(0), GRTT, false));
        assert!(farewell.on_end(at(1), GRTT, false));
        assert!(!farewell.on_end(at(10), GRTT, true));
        assert!(!farewell.on_end(at(20), GRTT, true), "the first counts");
        assert!(!farewell.on_timeout(at(2_009)) && farewell.on_timeout(at(2_010)));
        assert_eq!(farewell.next_timeout(), None);
    }

    #[test]
    fn who_lacks_nothing_and_misses_the_second_believes_the_silence_after_the_first() {
        let mut farewell = Farewell::default();
        assert!(!farewell.on_end(at(0), GRTT, false));
        assert!(!farewell.on_timeout(at(1_999)) && farewell.on_timeout(at(2_000)));
        // What follows may have to wait as long as a round trip.
        let slow = Duration::from_secs(3);
        assert!(!farewell.on_end(at(5_000), slow, false));
        assert!(!farewell.on_timeout(at(7_999)) && farewell.on_timeout(at(8_000)));
        assert!(!farewell.on_end(at(9_000), GRTT, false));
        farewell.contradict();
        assert!(!farewell.on_timeout(at(99_000)), "something else was heard");
    }

    #[test]
    fn a_hundred_forged_ones_a_second_between_data_have_no_effect() {
        let mut farewell = Farewell::default();
        for ms in 0..10_000 {
            assert!(!farewell.on_end(at(ms), GRTT, true) && !farewell.on_timeout(at(ms)));
            if ms % 500 == 0 {
                farewell.contradict();
            }
        }
    }
}
