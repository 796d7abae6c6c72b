//! How long repairers wait for the origin to answer a request itself (RFC 5740 5.4.1 says how long
//! an answer takes).

use fanfare_proto::{Duration, Time};

/// Requests in a row that an origin has left to others, after which it is taken to be deaf.
const DEAF_AFTER: u8 = 2;
/// Of one round, beside the backoff factor: one GRTT in which it gathers requests, one for the way
/// there and back, one to spare.
const ROUND: u32 = 3;
/// Rounds: its first request, or the answer, may just have been lost. With one round only, others
/// added 1.5 % to a transfer with a sender that heard everything but a tenth of the requests.
const ROUNDS: u32 = 2;

/// What is known of one origin's answers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OriginTimeout {
    unanswered: u8,
    answered: Option<Time>,
    counted: Option<Time>,
}

impl OriginTimeout {
    /// When anything was noted last.
    pub(crate) fn touched(&self) -> Option<Time> {
        self.answered.max(self.counted)
    }
}

impl OriginTimeout {
    /// What an origin that can hear takes at most to begin an answer, asked twice.
    pub(crate) fn grace(grtt: Duration, backoff: u8) -> Duration {
        grtt * (u32::from(backoff) + ROUND) * ROUNDS
    }
    /// It answered a request itself.
    pub(crate) fn on_answer(&mut self, now: Time) {
        (self.unanswered, self.answered) = (0, Some(now));
    }
    /// Something asked of it at `asked` has been left to others; what was asked together counts
    /// once.
    pub(crate) fn on_unanswered(&mut self, now: Time, asked: Time) {
        let answered = self.answered.is_some_and(|at| at >= asked);
        let counted = self.counted.is_some_and(|at| at >= asked);
        if !answered && !counted {
            self.unanswered = self.unanswered.saturating_add(1);
            self.counted = Some(now);
        }
    }
    /// Whether waiting for it is of no use.
    pub(crate) fn is_deaf(&self) -> bool {
        self.unanswered >= DEAF_AFTER
    }
    /// Before this, what was asked at `asked` is the origin's own.
    pub(crate) fn until(&self, asked: Time, grace: Duration) -> Time {
        if self.is_deaf() {
            return asked;
        }
        self.answered.map_or(asked, |answered| answered.max(asked)) + grace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_millis(700);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn an_origin_that_answers_is_given_all_the_time_it_needs() {
        let mut origin_timeout = OriginTimeout::default();
        assert_eq!(origin_timeout.until(at(0), GRACE), at(700));
        origin_timeout.on_answer(at(500));
        assert_eq!(origin_timeout.until(at(0), GRACE), at(1200), "it is busy with it");
    }

    #[test]
    fn two_unanswered_requests_make_an_origin_deaf_and_one_answer_ends_that() {
        let mut origin_timeout = OriginTimeout::default();
        origin_timeout.on_unanswered(at(700), at(0));
        origin_timeout.on_unanswered(at(701), at(1));
        assert!(!origin_timeout.is_deaf(), "asked together");
        origin_timeout.on_unanswered(at(1500), at(800));
        assert!(origin_timeout.is_deaf());
        assert_eq!(origin_timeout.until(at(2000), GRACE), at(2000));
        origin_timeout.on_answer(at(2100));
        assert!(!origin_timeout.is_deaf());
    }

    #[test]
    fn the_timeout_is_twice_the_aggregation_and_the_way_plus_a_round_trip() {
        assert_eq!(OriginTimeout::grace(Duration::from_millis(100), 4), GRACE * 2);
    }
}
