//! Rate when nothing new is heard to have arrived: it halves, again and again, down to a message a
//! second (RFC 8085 3.1.3), whatever is believed of the path. What was believed is forgotten then.
//!
//! A receiver that speaks and has heard no newer probe, or has none of the data, tells nothing new.

use fanfare_wire::units::time::{Duration, Time};
use libm::{exp2, floor};

/// The rate halves each time so much has gone without news: some round trips, and the time between probes.
const SPANS: u32 = 4;
/// Least time until it halves: a process may wait so long for its processor.
const LEAST: Duration = Duration::from_millis(500);
/// A report that tells of more loss than this tells of nothing that arrived.
const LOST_MAX: f64 = 0.98;

/// The time without news.
#[derive(Debug, Default)]
pub(super) struct NewsSilence {
    /// Bytes that somebody has reported on, of all that were sent.
    told: u64,
    /// Time from which an answer is owed: somebody was asked about more than that.
    owed: Option<Time>,
    /// Bytes that were sent when somebody was asked last.
    asked: u64,
    patience: Duration,
    /// The time at which the last silence ended that had left less than all of the rate.
    ended: Option<Time>,
}

/// News that somebody tells of what was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewsReport {
    /// The report tells of all bytes until this one.
    pub(super) until: u64,
    /// Share of them that was lost.
    pub(super) lost: f64,
    /// Time from one report to the next.
    pub(super) span: Duration,
}

impl NewsSilence {
    /// A probe goes out, behind so many bytes.
    pub(super) fn on_probe(&mut self, now: Time, sent: u64) {
        self.asked = sent;
        if sent > self.told {
            self.owed.get_or_insert(now);
        }
    }

    /// Somebody reports. Gives the share of the rate that silence had left, if it ends now and that was not all.
    pub(super) fn on_report(&mut self, now: Time, report: NewsReport) -> Option<f64> {
        if report.until <= self.told || report.lost > LOST_MAX {
            return None;
        }
        let share = self.share(now);
        self.told = report.until;
        self.owed = (self.asked > self.told).then_some(now);
        self.patience = LEAST.max(report.span * SPANS);
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
    use fanfare_wire::units::time::at;

    const SPAN: Duration = Duration::from_millis(100);

    #[test]
    fn it_halves_as_long_as_an_answer_is_owed_and_then_says_by_how_much() {
        let mut silence = NewsSilence::default();
        let report = |until, lost| NewsReport { until, lost, span: SPAN };
        silence.on_probe(at(100), 10);
        assert_eq!(silence.share(at(60_000)), 1.0, "nobody has ever answered");
        assert_eq!(silence.on_report(at(200), report(10, 0.0)), None);
        assert_eq!(silence.share(at(60_000)), 1.0, "nobody was asked");
        silence.on_probe(at(60_000), 10);
        silence.on_probe(at(60_100), 20);
        silence.on_probe(at(60_300), 30);
        assert_eq!([60_500, 60_800, 61_400].map(|now| silence.share(at(now))), [1.0, 0.5, 0.25]);
        assert_eq!(silence.on_report(at(61_400), report(20, 1.0)), None, "none of it has come");
        assert_eq!(silence.on_report(at(61_400), report(10, 0.0)), None, "that is known");
        assert_eq!(silence.on_report(at(61_400), report(20, 0.9)), Some(0.25));
        assert_eq!([61_800, 62_100].map(|now| silence.share(at(now))), [1.0, 0.5]);
        assert!(silence.concerns(at(61_450), SPAN) && !silence.concerns(at(61_550), SPAN));
    }
}
