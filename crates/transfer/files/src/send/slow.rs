//! Receivers that get less than the others: kept, served after the others, or given up.
//!
//! Who is served after the others is decided by the core, which sees every report
//! ([`fanfare_proto::TailPolicy`]); here that is told. Who is given up is decided here: a receiver's rate is
//! the sender's rate times the share of its messages that arrive. The share comes from the receiver's own
//! count of messages, which follows its NACKs once a second ([`fanfare_proto::ReceiverReport::reception`]).
//! A plain NORM receiver does not count. The loss event fraction that it reports stands for it, which is
//! never more than its loss. Who asks for nothing gets everything.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use fanfare_proto::{Bitrate, NodeId, ReceiverReport, TailPolicy, Time};

use super::peers::{Peers, loss_of};
use crate::event::SlowVerdict;

/// So long a receiver must have been slow to be given up: a burst of other traffic may take so long.
const EVICTED_AFTER: Duration = Duration::from_secs(5);

/// What is done about a slow receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Slow {
    /// All are waited for.
    #[default]
    Keep,
    /// Receivers that get less than `min_rate` are served when the others have everything. Without a rate: less
    /// than half of what the middle one of all receivers gets.
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

/// How it stands with one receiver.
#[derive(Debug, Default)]
struct Standing {
    /// The last count heeded came in then.
    seen: Time,
    below: Duration,
    deferred: bool,
}

/// Judges receivers by what they report.
#[derive(Debug)]
pub(super) struct SlowReceivers {
    policy: Slow,
    standings: BTreeMap<NodeId, Standing>,
    /// Receivers of which the core knows that they need nothing more.
    finished: BTreeSet<NodeId>,
}

impl SlowReceivers {
    /// The policy that the core follows.
    pub(super) fn tail(&self) -> Option<TailPolicy> {
        match self.policy {
            Slow::Tail { min_rate } => Some(TailPolicy { min_rate }),
            Slow::Keep | Slow::Evict { .. } => None,
        }
    }

    /// Receivers that need nothing more, since the last call.
    pub(super) fn newly_finished(&mut self, peers: &Peers) -> Vec<NodeId> {
        if self.tail().is_none() {
            return Vec::new();
        }
        let new = peers.settled().filter(|node| self.finished.insert(*node));
        new.collect()
    }

    pub(super) fn policy(&self) -> Slow {
        self.policy
    }

    /// Treats them so from now on.
    pub(super) fn set_policy(&mut self, policy: Slow) {
        self.policy = policy;
    }

    pub(super) fn new(policy: Slow) -> Self {
        Self { policy, standings: BTreeMap::new(), finished: BTreeSet::new() }
    }

    /// Decisions due by these reports, of receivers that are still to be served, at the sender's
    /// `rate`; and what each of those receivers gets. Where the rate itself is below what a receiver
    /// must get, only the receiver that limits it is slow, and the others get less because of it.
    pub(super) fn judge(
        &mut self,
        (rate, limiting): (Bitrate, Option<NodeId>),
        reports: &[ReceiverReport],
    ) -> Vec<(NodeId, SlowVerdict, Bitrate)> {
        let mut verdicts = self.changes(rate, reports);
        let Slow::Evict { min_rate: least } = self.policy else { return verdicts };
        for report in reports {
            let gets = rate_of(rate, report);
            let standing = self.standings.entry(report.node).or_default();
            let slow = gets < least;
            if !slow || rate >= least || limiting == Some(report.node) {
                standing.note(report, slow);
            }
            if standing.below >= EVICTED_AFTER {
                verdicts.push((report.node, SlowVerdict::Evicted, gets));
            }
        }
        verdicts
    }

    /// Changes in whom the core has deferred. When all others are finished it is the turn of those
    /// deferred: that is no change.
    fn changes(
        &mut self,
        rate: Bitrate,
        reports: &[ReceiverReport],
    ) -> Vec<(NodeId, SlowVerdict, Bitrate)> {
        let was = |node| self.standings.get(&node).is_some_and(|standing| standing.deferred);
        let turn = self.tail().is_some() && reports.iter().all(|report| was(report.node));
        let mut changes = Vec::new();
        for report in reports {
            let standing = self.standings.entry(report.node).or_default();
            let verdict = match (standing.deferred, report.deferred) {
                (false, true) => SlowVerdict::Deferred,
                (true, false) if !turn => SlowVerdict::Restored,
                _ => continue,
            };
            standing.deferred = report.deferred;
            changes.push((report.node, verdict, rate_of(rate, report)));
        }
        changes
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
        self.below = if slow { self.below + time } else { Duration::ZERO };
    }
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
            deferred: false,
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
    fn whom_the_core_defers_is_told_once_and_that_its_turn_has_come_is_no_change() {
        let mut slow = SlowReceivers::new(Slow::Tail { min_rate: None });
        let mut told = |deferred: bool, others: bool, second| {
            let slow_one = ReceiverReport { deferred, ..report(1, 0.1, second) };
            let reports = [vec![slow_one], vec![report(2, 1.0, second); usize::from(others)]];
            let verdicts = slow.judge((RATE, None), &reports.concat());
            verdicts.into_iter().map(|(node, verdict, _)| (node.0, verdict)).collect::<Vec<_>>()
        };
        assert_eq!(told(true, true, 1), [(1, SlowVerdict::Deferred)]);
        assert_eq!(told(true, true, 2), []);
        assert_eq!(told(false, true, 3), [(1, SlowVerdict::Restored)]);
        assert_eq!(told(true, true, 4), [(1, SlowVerdict::Deferred)]);
        assert_eq!(told(false, false, 5), [], "the others are finished");
    }

    #[test]
    fn who_was_deferred_is_told_to_be_served_again_when_nobody_is_to_be_any_more() {
        for policy in [Slow::Keep, Slow::Evict { min_rate: Bitrate::mbps(1) }] {
            let mut slow = SlowReceivers::new(Slow::Tail { min_rate: Some(Bitrate::mbps(5)) });
            let deferred = ReceiverReport { deferred: true, ..report(1, 0.3, 1) };
            assert_eq!(slow.judge((RATE, None), &[deferred])[0].1, SlowVerdict::Deferred);
            slow.set_policy(policy);
            let judged = slow.judge((RATE, None), &[report(1, 0.3, 2)]);
            assert_eq!(judged[0].1, SlowVerdict::Restored);
            assert_eq!(slow.judge((RATE, None), &[report(1, 0.3, 3)]), []);
        }
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
