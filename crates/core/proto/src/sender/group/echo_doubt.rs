//! Whether a round trip that a receiver's echo tells is believed where it would lengthen the GRTT.
//!
//! An echo is our own clock, sent back, and on it the GRTT hangs: whoever sends back an old one makes
//! every wait longer. A receiver counts the time for which it has held a probe, so what its echoes
//! tell stays the same, where an old echo that is sent again grows with the time. Whoever
//! reckons with a clock of its own can still lie, if it does so steadily.

use crate::time::{Duration, Time};

/// A shorter round trip is believed at once: no wait of ours becomes long by it.
const SHORT: Duration = Duration::from_millis(50);
/// Two echoes are compared when they are so far apart: twice as far as an honest one may jitter.
const APART: Duration = Duration::from_millis(100);
/// By this part of the time in between a round trip may have grown: a queue fills as slowly as that
/// where a line is overdriven by half. An old echo grows by all of it.
const GROWTH: u32 = 2;

/// What one receiver's echoes have told.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::sender) struct EchoDoubt {
    /// The last long round trip that was told, and when.
    claim: Option<(Time, Duration)>,
}

impl EchoDoubt {
    /// An echo tells of this round trip, where up to `usual` is reckoned with.
    pub(in crate::sender) fn believes(
        &mut self,
        now: Time,
        rtt: Duration,
        usual: Duration,
    ) -> bool {
        if is_harmless(rtt, usual) {
            self.claim = None;
            return true;
        }
        let Some((since, told)) = self.claim else {
            self.claim = Some((now, rtt));
            return false;
        };
        let between = now.since(since);
        if between < APART {
            return false;
        }
        self.claim = Some((now, rtt));
        rtt <= told + between / GROWTH
    }
}

/// Whether no wait becomes long by this round trip.
pub(in crate::sender) fn is_harmless(rtt: Duration, usual: Duration) -> bool {
    rtt <= usual.max(SHORT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn an_old_echo_that_is_sent_again_is_never_believed() {
        let mut doubt = EchoDoubt::default();
        for n in 60..10_000 {
            assert!(!doubt.believes(at(n), ms(n), ms(1)), "{n}");
        }
    }

    #[test]
    fn a_receiver_far_away_is_believed_when_it_has_told_the_same_twice() {
        let mut doubt = EchoDoubt::default();
        assert!(!doubt.believes(at(0), ms(600), ms(1)));
        assert!(!doubt.believes(at(99), ms(600), ms(1)), "too soon");
        assert!(doubt.believes(at(100), ms(620), ms(1)));
        assert!(doubt.believes(at(900), ms(650), ms(1)));
    }

    #[test]
    fn what_is_short_or_usual_is_believed_at_once() {
        let mut doubt = EchoDoubt::default();
        assert!(doubt.believes(at(0), SHORT, ms(1)));
        assert!(doubt.believes(at(0), ms(600), ms(600)));
    }

    #[test]
    fn a_round_trip_that_was_told_long_ago_does_not_vouch_for_a_longer_one_now() {
        let mut doubt = EchoDoubt::default();
        doubt.believes(at(0), ms(60), ms(1));
        assert!(doubt.believes(at(20_000), ms(60), ms(1)));
        assert!(!doubt.believes(at(20_200), ms(9_000), ms(1)));
    }
}
