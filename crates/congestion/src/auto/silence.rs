//! Rate when nothing new is heard to have arrived: it halves, again and again, down to a message a
//! second (RFC 8085 3.1.3), whatever is believed of the path. What was believed is forgotten then.
//!
//! A receiver that speaks and has heard no newer probe, or has none of the data, tells nothing new.

use fanfare_units::time::{Duration, Time};
use libm::{exp2, floor};

/// The rate halves each time so much has gone without news: some round trips, and the time between probes.
const SPANS: u32 = 6;
/// Least time until it halves: a process may wait so long for its processor.
const LEAST: Duration = Duration::from_millis(500);
/// A report that tells of more loss than this tells of nothing that arrived.
const LOST_MAX: f64 = 0.98;

/// The time without news.
#[derive(Debug, Default)]
pub(super) struct NewsSilence {
    /// Time from which an answer is owed: somebody was asked about something.
    owed: Option<Time>,
    patience: Duration,
    /// The time at which the last silence ended that had left less than all of the rate.
    ended: Option<Time>,
}

impl NewsSilence {
    /// A probe goes out; `unreported`: behind something that no report has told of.
    pub(super) fn on_probe(&mut self, now: Time, unreported: bool) {
        if unreported {
            self.owed.get_or_insert(now);
        }
    }

    /// A report tells of what no other has told of, of which a share was `lost`; `more`: another is owed. A report
    /// and the next are as far apart as `span`. Gives the share of the rate that silence had left, if it was not all.
    pub(super) fn on_report(
        &mut self,
        now: Time,
        lost: f64,
        more: bool,
        span: Duration,
    ) -> Option<f64> {
        if lost > LOST_MAX {
            return None;
        }
        let share = self.share(now);
        self.owed = more.then_some(now);
        self.patience = LEAST.max(span * SPANS);
        if share < 1.0 {
            self.ended = Some(now);
        }
        (share < 1.0).then_some(share)
    }

    /// True if what was sent until `until`, in `span`, went partly in a silence: that tells nothing of the path.
    pub(super) fn concerns(&self, until: Time, span: Duration) -> bool {
        self.ended.is_some_and(|ended| until <= ended + span)
    }

    /// Nobody is left who owes one.
    pub(super) fn forget(&mut self) {
        self.owed = None;
    }

    /// The share of the rate that is left now.
    pub(super) fn share(&self, now: Time) -> f64 {
        let (Some(owed), false) = (self.owed, self.patience.is_zero()) else { return 1.0 };
        exp2(-floor(now.since(owed).as_secs_f64() / self.patience.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_units::time::at;

    const SPAN: Duration = Duration::from_millis(100);

    #[test]
    fn it_halves_as_long_as_an_answer_is_owed_and_then_says_by_how_much() {
        let mut silence = NewsSilence::default();
        silence.on_probe(at(100), true);
        assert_eq!(silence.share(at(60_000)), 1.0, "nobody has ever answered");
        assert_eq!(silence.on_report(at(200), 0.0, false, SPAN), None);
        assert_eq!(silence.share(at(60_000)), 1.0, "nobody was asked");
        silence.on_probe(at(60_000), false);
        silence.on_probe(at(60_100), true);
        assert_eq!([60_600, 60_800, 61_400].map(|now| silence.share(at(now))), [1.0, 0.5, 0.25]);
        assert_eq!(silence.on_report(at(61_400), 1.0, false, SPAN), None, "none of it has come");
        assert_eq!(silence.on_report(at(61_400), 0.9, true, SPAN), Some(0.25));
        assert_eq!([61_900, 62_100].map(|now| silence.share(at(now))), [1.0, 0.5]);
        assert!(silence.concerns(at(61_450), SPAN) && !silence.concerns(at(61_550), SPAN));
    }
}
