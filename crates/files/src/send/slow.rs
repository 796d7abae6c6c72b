//! Receivers that get less than the others: kept, served after the others, or given up.
//!
//! A receiver's rate is the sender's rate times the share of its messages that arrive. The share
//! comes from the receiver's own count of messages, which follows its NACKs once a second
//! ([`fanfare_proto::ReceiverReport::reception`]); a plain NORM receiver does not count, and the loss
//! event fraction it reports, which is never more than its loss, stands for it. Who asks for
//! nothing gets everything.

use std::{collections::BTreeMap, time::Duration};

use fanfare_proto::{Bitrate, NodeId, ReceiverReport, Time};

/// So long a receiver must have been slow to be served after the others, and fast to come back. Two
/// counts.
const DEFERRED_AFTER: Duration = Duration::from_secs(2);
/// So long a receiver must have been slow to be given up: a burst of other traffic may take so long.
const EVICTED_AFTER: Duration = Duration::from_secs(5);

/// What is done about a slow receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Slow {
    /// All are waited for.
    #[default]
    Keep,
    /// Who gets less than `min_rate` for two seconds is served when the others have everything.
    /// Without a rate: less than half of what the middle one of all receivers gets.
    Tail {
        /// Slow is what is below it.
        min_rate: Option<Bitrate>,
    },
    /// Who gets less than `min_rate` for five seconds is given up.
    Evict {
        /// Slow is what is below it.
        min_rate: Bitrate,
    },
}

/// What has been decided about a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowVerdict {
    /// It is served after the others.
    Deferred,
    /// It is served as the others again.
    Restored,
    /// It is given up.
    Evicted,
}

impl SlowVerdict {
    /// Stable name for JSON and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deferred => "deferred",
            Self::Restored => "restored",
            Self::Evicted => "evicted",
        }
    }
}

/// How it stands with one receiver.
#[derive(Debug, Default)]
struct Standing {
    /// The last count heeded came in then.
    seen: Time,
    below: Duration,
    above: Duration,
    deferred: bool,
}

/// Judges receivers by what they report.
#[derive(Debug)]
pub(super) struct SlowReceivers {
    policy: Slow,
    standings: BTreeMap<NodeId, Standing>,
}

impl SlowReceivers {
    pub(super) fn policy(&self) -> Slow {
        self.policy
    }

    /// Treats them so from now on.
    pub(super) fn set_policy(&mut self, policy: Slow) {
        self.policy = policy;
    }

    pub(super) fn new(policy: Slow) -> Self {
        Self { policy, standings: BTreeMap::new() }
    }

    /// Decisions due by these reports, of receivers that are still to be served, at the sender's
    /// `rate`; and what each of those receivers gets. Where the rate itself is below what a receiver
    /// must get, only the receiver that limits it is slow, and the others get less because of it.
    pub(super) fn judge(
        &mut self,
        (rate, limiting): (Bitrate, Option<NodeId>),
        reports: &[ReceiverReport],
    ) -> Vec<(NodeId, SlowVerdict, Bitrate)> {
        // Nobody is slow below nothing; but who was put off before that is restored.
        let restores = || self.standings.values().any(|s| s.deferred).then(Bitrate::default);
        let Some(least) = self.least(rate, reports).or_else(restores) else { return Vec::new() };
        let mut verdicts = Vec::new();
        for report in reports {
            let gets = rate_of(rate, report);
            let standing = self.standings.entry(report.node).or_default();
            let slow = gets < least;
            if !slow || rate >= least || limiting == Some(report.node) {
                standing.note(report, slow);
            }
            if let Some(verdict) = standing.verdict(self.policy) {
                verdicts.push((report.node, verdict, gets));
            }
        }
        verdicts
    }

    /// What a receiver must get not to be slow; `None` when that does not matter.
    fn least(&self, rate: Bitrate, reports: &[ReceiverReport]) -> Option<Bitrate> {
        match self.policy {
            Slow::Keep => None,
            Slow::Evict { min_rate } | Slow::Tail { min_rate: Some(min_rate) } => Some(min_rate),
            Slow::Tail { min_rate: None } => {
                let mut rates: Vec<Bitrate> = reports.iter().map(|r| rate_of(rate, r)).collect();
                rates.sort_unstable();
                rates.get(rates.len() / 2).map(|middle| Bitrate::bps(middle.as_bps() / 2))
            }
        }
    }
}

impl Standing {
    fn note(&mut self, report: &ReceiverReport, slow: bool) {
        let (since, until) = match report.reception {
            Some(reception) => (reception.since, reception.until),
            None => (if self.seen == Time::ZERO { report.heard } else { self.seen }, report.heard),
        };
        if until <= self.seen {
            return;
        }
        self.seen = until;
        let time = until.since(since);
        (self.below, self.above) = if slow {
            (self.below + time, Duration::ZERO)
        } else {
            (Duration::ZERO, self.above + time)
        };
    }

    fn verdict(&mut self, policy: Slow) -> Option<SlowVerdict> {
        match policy {
            Slow::Evict { .. } if self.below >= EVICTED_AFTER => Some(SlowVerdict::Evicted),
            Slow::Tail { .. } if !self.deferred && self.below >= DEFERRED_AFTER => {
                self.deferred = true;
                Some(SlowVerdict::Deferred)
            }
            Slow::Tail { .. } if self.deferred && self.above >= DEFERRED_AFTER => {
                self.deferred = false;
                Some(SlowVerdict::Restored)
            }
            // Of an earlier policy.
            Slow::Keep | Slow::Evict { .. } if self.deferred => {
                self.deferred = false;
                Some(SlowVerdict::Restored)
            }
            Slow::Keep | Slow::Tail { .. } | Slow::Evict { .. } => None,
        }
    }
}

/// Share of what is sent that does not arrive.
pub(super) fn loss_of(report: &ReceiverReport) -> f64 {
    report.reception.map_or(report.loss, |reception| 1.0 - reception.share)
}

fn rate_of(rate: Bitrate, report: &ReceiverReport) -> Bitrate {
    Bitrate::from_bytes_per_second(rate.as_bytes_per_second() * (1.0 - loss_of(report)))
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Reception;

    use super::*;

    const RATE: Bitrate = Bitrate::mbps(10);

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    /// A receiver that got `share` in the second before `second`.
    fn report(node: u32, share: f64, second: u64) -> ReceiverReport {
        let reception = Reception { share, since: at(second - 1), until: at(second) };
        ReceiverReport { reception: Some(reception), ..plain(node, 0.0, second) }
    }

    fn plain(node: u32, loss: f64, second: u64) -> ReceiverReport {
        ReceiverReport {
            node: NodeId(node),
            source: ([10, 0, 0, 1], 1).into(),
            rtt: None,
            loss,
            reception: None,
            nacks: 0,
            overruns: 0,
            heard: at(second),
            evicted: false,
        }
    }

    #[test]
    fn where_a_slow_receiver_lowers_the_rate_it_alone_is_given_up() {
        let policy = Slow::Evict { min_rate: Bitrate::mbps(12) };
        let given_up = |limiting| {
            let mut slow = SlowReceivers::new(policy);
            let seconds = (1..=12).flat_map(|second| {
                slow.judge((RATE, limiting), &[report(1, 1.0, second), report(2, 0.5, second)])
            });
            seconds.map(|(node, ..)| node.0).collect::<Vec<_>>()
        };
        assert!(!given_up(Some(NodeId(2))).contains(&1));
        assert!(given_up(Some(NodeId(2))).contains(&2));
        assert_eq!(given_up(None), [0; 0]);
    }

    /// Verdicts with the second in which each fell; each report is seen five times.
    fn judged(
        policy: Slow,
        reports: impl Fn(u64) -> Vec<ReceiverReport>,
    ) -> Vec<(u64, u32, SlowVerdict)> {
        let mut slow = SlowReceivers::new(policy);
        let mut all = Vec::new();
        for second in 1..=12 {
            for _ in 0..5 {
                let verdicts = slow.judge((RATE, None), &reports(second));
                all.extend(
                    verdicts.into_iter().map(|(node, verdict, _)| (second, node.0, verdict)),
                );
            }
        }
        all
    }

    #[test]
    fn who_stays_below_the_least_rate_for_five_seconds_is_given_up() {
        let evict = Slow::Evict { min_rate: Bitrate::mbps(5) };
        let verdicts = judged(evict, |second| match second {
            0..=5 => vec![report(1, 0.4, second), report(2, 0.6, second)],
            _ => vec![report(2, 0.6, second)],
        });
        assert_eq!(verdicts[0], (5, 1, SlowVerdict::Evicted));
        assert!(verdicts.iter().all(|(_, node, _)| *node == 1));
    }

    #[test]
    fn who_recovers_in_between_is_not() {
        let evict = Slow::Evict { min_rate: Bitrate::mbps(5) };
        let share = |second| if second % 5 == 0 { 0.9 } else { 0.1 };
        assert_eq!(judged(evict, |second| vec![report(1, share(second), second)]), []);
    }

    #[test]
    fn a_tail_is_put_off_after_two_seconds_and_comes_back_after_two() {
        let tail = Slow::Tail { min_rate: None };
        let share = |second| if second <= 4 { 0.3 } else { 0.8 };
        let verdicts = judged(tail, |second| {
            vec![report(1, share(second), second), plain(2, 0.0, second), report(3, 0.9, second)]
        });
        assert_eq!(verdicts, [(2, 1, SlowVerdict::Deferred), (6, 1, SlowVerdict::Restored)]);
    }

    #[test]
    fn who_was_put_off_is_served_again_when_nobody_is_to_be_any_more() {
        for policy in [Slow::Keep, Slow::Evict { min_rate: Bitrate::mbps(1) }] {
            let mut slow = SlowReceivers::new(Slow::Tail { min_rate: Some(Bitrate::mbps(5)) });
            let judged = |slow: &mut SlowReceivers, second| {
                let verdicts = slow.judge((RATE, None), &[report(1, 0.3, second)]);
                verdicts.into_iter().map(|(_, verdict, _)| verdict).collect::<Vec<_>>()
            };
            assert_eq!(judged(&mut slow, 1), []);
            assert_eq!(judged(&mut slow, 2), [SlowVerdict::Deferred]);
            slow.policy = policy;
            assert_eq!(judged(&mut slow, 3), [SlowVerdict::Restored]);
            assert_eq!(judged(&mut slow, 4), []);
        }
    }

    #[test]
    fn where_all_are_as_slow_nobody_is_slower_than_the_others() {
        let tail = Slow::Tail { min_rate: None };
        let all = |second| (1..=3).map(|node| report(node, 0.3, second)).collect();
        assert_eq!(judged(tail, all), []);
        assert_eq!(judged(Slow::Keep, all), []);
    }

    #[test]
    fn a_count_that_does_not_change_says_nothing_new() {
        let evict = Slow::Evict { min_rate: Bitrate::mbps(5) };
        assert_eq!(judged(evict, |_| vec![report(1, 0.1, 1)]), []);
    }

    #[test]
    fn a_plain_receiver_is_judged_by_the_loss_it_reports() {
        let evict = Slow::Evict { min_rate: Bitrate::mbps(5) };
        let verdicts = judged(evict, |second| vec![plain(1, 0.6, second)]);
        assert_eq!(verdicts[0], (6, 1, SlowVerdict::Evicted));
    }
}
