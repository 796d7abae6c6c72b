//! Whether all who are there have had time to answer. The first to answer is often the nearest, and the start
//! doubles by its round trips. The slowest may not have spoken yet: answers wait by the GRTT that was told, and what
//! is sent meanwhile would bury the probes that it is asked with.

use super::law;
use fanfare_wire::units::time::{Duration, Time};

/// A GRTT that is told to be so many times the round trip of the receiver that limits is a first guess, or others
/// are far away.
const FAR: u32 = 4;
/// The rate doubles once in so many GRTTs then.
const ROUND: u32 = 2;
/// And where the nearest is near, no more often than this. A receiver behind a port that takes a quarter of what is
/// sent still hears five probes in this time.
const ROUND_MIN: Duration = Duration::from_millis(100);

/// What is known of that.
#[derive(Debug)]
pub(super) struct AnswerHearing {
    everyone: bool,
    since: Option<Time>,
}

impl AnswerHearing {
    /// In an open group nobody has been asked who is there.
    pub(super) fn new(open: bool) -> Self {
        Self { everyone: !open, since: None }
    }

    /// All who are expected have answered.
    pub(super) fn on_everyone(&mut self) {
        self.everyone = true;
    }

    /// Whether the rate may grow, for a receiver with this round trip.
    pub(super) fn may_grow(&mut self, now: Time, rtt: Duration, grtt: Duration) -> bool {
        let since = *self.since.get_or_insert(now);
        let guess = if grtt > rtt * FAR { grtt * ROUND } else { Duration::ZERO };
        let round = if law::is_short(rtt) { guess.max(ROUND_MIN) } else { guess };
        self.everyone || now.since(since) >= round
    }

    /// It has grown.
    pub(super) fn on_grown(&mut self, now: Time) {
        self.since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    const NEAR: Duration = Duration::from_millis(10);
    const GUESS: Duration = Duration::from_millis(250);

    #[test]
    fn while_the_grtt_is_a_guess_the_rate_doubles_once_in_two_of_it() {
        let mut hearing = AnswerHearing::new(true);
        let mut grown = 0;
        for millis in (100..2_100).step_by(10) {
            if hearing.may_grow(at(millis), NEAR, GUESS) {
                hearing.on_grown(at(millis));
                grown += 1;
            }
        }
        assert_eq!(grown, 3);
    }

    #[test]
    fn it_grows_freely_when_all_have_answered_or_all_are_as_far() {
        let mut hearing = AnswerHearing::new(true);
        assert!(!hearing.may_grow(at(100), NEAR, GUESS));
        assert!(!hearing.may_grow(at(199), NEAR, NEAR * 2), "measured");
        assert!(hearing.may_grow(at(200), NEAR, NEAR * 2), "and waited for");
        hearing.on_grown(at(200));
        assert!(
            hearing.may_grow(at(210), Duration::from_millis(100), GUESS),
            "as far as the guess"
        );
        hearing.on_everyone();
        assert!(hearing.may_grow(at(130), NEAR, GUESS));
        assert!(AnswerHearing::new(false).may_grow(at(0), NEAR, GUESS), "a group that is not open");
    }
}
