//! Receivers that are much slower than the others: their reports do not count until the others are
//! served.
//!
//! The rate follows the slowest receiver that counts, so at that rate nobody looks slow. To find out
//! what the others can take, a receiver that would lower the rate is *set aside* for a short trial: its
//! reports do not count. The rate may rise until that receiver gets less than half of what the middle
//! one gets (or less than the least rate). Then its requests wait, too, and when it has said so for a
//! moment it is *deferred*. If another receiver holds the rate where it was, the trial ends, and the
//! first one counts again.
//!
//! At most half of the receivers are set aside, so that the middle one always counts. With a least rate
//! it is all but one.

use crate::{
    rate::Bitrate,
    tail_policy::TailPolicy,
    time::{Duration, Time},
};
use alloc::{collections::BTreeMap, vec::Vec};
use fanfare_wire::NodeId;

/// Part of what the middle receiver gets, below which a receiver is slow.
const SLOW: f64 = 0.5;
/// Part of it from which on it is slow no more. Between the two it stays what it is.
const RESTORED: f64 = 0.75;
/// Before a receiver is deferred so many reports in a row must say that it is slow, over at least this
/// time. A busy machine may keep a receiver from its processor for as long.
const DEFERRED_REPORTS: u32 = 3;
const DEFERRED_AFTER: Duration = Duration::from_millis(20);
/// A receiver comes back when all its reports of so long say that it is fast enough.
const RESTORED_AFTER: Duration = Duration::from_secs(1);
/// A trial lasts for so many round trips of the group, in which the rate can double outside of its
/// start, too; and at least for this time.
const TRIAL_RTTS: u32 = 30;
const TRIAL_MIN: Duration = Duration::from_millis(300);
/// After a trial that came to nothing the next is so much later, twice as late each time, up to a limit.
const PAUSE_FIRST: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(300);
/// Time for which a report counts. Then its receiver is taken to get everything: who gets less says so.
const FRESH: Duration = Duration::from_secs(2);

/// Content of a report, as far as it counts here.
#[derive(Debug, Clone, Copy)]
pub(in crate::sender) struct ReportWeight {
    pub(in crate::sender) node: NodeId,
    /// The sender's rate.
    pub(in crate::sender) rate: Bitrate,
    /// The share of it that passes to the receiver.
    pub(in crate::sender) share: f64,
    /// Followed, it would lower the rate.
    pub(in crate::sender) lowers: bool,
    /// Receivers that are not finished.
    pub(in crate::sender) receivers: usize,
    /// The round trip of the group.
    pub(in crate::sender) grtt: Duration,
}

/// State of a receiver that does not count.
#[derive(Debug, Clone, Copy)]
struct AsideState {
    since: Time,
    /// Reports in a row that say that it is slow, and since when.
    slow: u32,
    slow_since: Time,
    /// It is deferred, not on trial.
    deferred: bool,
    /// All reports since then say that it is fast.
    fast_since: Option<Time>,
}

/// Time before a receiver is tried again, and the one after that.
#[derive(Debug, Clone, Copy)]
struct TrialPause {
    until: Time,
    next: Duration,
}

/// Outcome of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sender) enum ReportRuling {
    /// It counts as those of all others.
    Counts,
    /// The receiver is set aside now: nothing it said counts any more.
    SetAside,
    /// It was set aside before.
    Ignored,
    /// The receiver is deferred now.
    Deferred,
    /// The receiver was deferred, and counts again.
    Restored,
}

/// The machine. Its maps hold receivers that the sender has accepted, which bounds them.
#[derive(Debug, Default)]
pub(in crate::sender) struct SetAside {
    policy: Option<TailPolicy>,
    aside: BTreeMap<NodeId, AsideState>,
    shares: BTreeMap<NodeId, (f64, Time)>,
    pauses: BTreeMap<NodeId, TrialPause>,
    /// Receiver that was on trial and has made room for another.
    released: Option<NodeId>,
}

impl SetAside {
    /// Sets receivers aside from now on, or no more. Returns who counts again.
    pub(in crate::sender) fn set_policy(&mut self, policy: Option<TailPolicy>) -> Vec<NodeId> {
        self.policy = policy;
        if policy.is_some() { Vec::new() } else { self.take_all() }
    }

    pub(in crate::sender) fn is_on(&self) -> bool {
        self.policy.is_some()
    }

    /// Tells whether reports of `node` do not count.
    pub(in crate::sender) fn has(&self, node: NodeId) -> bool {
        self.aside.contains_key(&node)
    }

    /// Tells whether requests of `node` wait: it is deferred, or its last report said that it is slow.
    pub(in crate::sender) fn waits(&self, node: NodeId) -> bool {
        self.aside.get(&node).is_some_and(|aside| aside.deferred || aside.slow > 0)
    }

    /// Tells whether `node` is set aside and not deferred.
    pub(in crate::sender) fn is_on_trial(&self, node: NodeId) -> bool {
        self.aside.get(&node).is_some_and(|aside| !aside.deferred)
    }

    /// Takes who has made room for the receiver that reported last: it counts again.
    pub(in crate::sender) fn take_released(&mut self) -> Option<NodeId> {
        self.released.take()
    }

    /// Everybody counts again, and may be tried at once. Returns who did not.
    pub(in crate::sender) fn take_all(&mut self) -> Vec<NodeId> {
        self.shares.clear();
        self.pauses.clear();
        core::mem::take(&mut self.aside).into_keys().collect()
    }

    /// A receiver that limits the rate is silent while others answer: it may have lost all. True when it
    /// does not count from now on.
    pub(in crate::sender) fn on_silent(
        &mut self,
        now: Time,
        node: NodeId,
        receivers: usize,
    ) -> bool {
        let free = self.aside.len() < self.most(receivers);
        if free && self.is_on() && !self.has(node) {
            self.aside.insert(node, AsideState::new(now));
            return true;
        }
        false
    }

    /// A receiver reports.
    pub(in crate::sender) fn on_report(
        &mut self,
        now: Time,
        weight: &ReportWeight,
    ) -> ReportRuling {
        let node = weight.node;
        if !self.is_on() {
            return ReportRuling::Counts;
        }
        self.shares.insert(node, (weight.share, now));
        let (slow, fast) = self.compare(now, weight);
        let Some(aside) = self.aside.get_mut(&node) else {
            return self.begin(now, weight, slow);
        };
        aside.note(now, slow, fast);
        if aside.deferred {
            if aside.fast_since.is_some_and(|since| now.since(since) >= RESTORED_AFTER) {
                self.aside.remove(&node);
                return ReportRuling::Restored;
            }
            return ReportRuling::Ignored;
        }
        if aside.is_slow_for_long(now) {
            aside.deferred = true;
            self.pauses.remove(&node);
            return ReportRuling::Deferred;
        }
        let over = now.since(aside.since) >= TRIAL_MIN.max(weight.grtt * TRIAL_RTTS);
        if slow || (weight.lowers && !over) {
            return ReportRuling::Ignored;
        }
        if weight.lowers {
            self.pause(now, node);
        }
        self.aside.remove(&node);
        ReportRuling::Counts
    }

    /// A report of a receiver that counts so far.
    fn begin(&mut self, now: Time, weight: &ReportWeight, slow: bool) -> ReportRuling {
        let paused = self.pauses.get(&weight.node).is_some_and(|pause| now < pause.until);
        if !slow && (!weight.lowers || paused || !self.may_be_slow(weight)) {
            return ReportRuling::Counts;
        }
        if self.aside.len() >= self.most(weight.receivers) && !self.gives_way(weight) {
            return ReportRuling::Counts;
        }
        let mut aside = AsideState::new(now);
        aside.note(now, slow, false);
        self.aside.insert(weight.node, aside);
        ReportRuling::SetAside
    }

    /// True unless the receiver would still get a least rate, where there is one.
    fn may_be_slow(&self, weight: &ReportWeight) -> bool {
        let least = self.policy.and_then(|policy| policy.min_rate);
        least.is_none_or(|least| gets(weight.rate, weight.share) < least)
    }

    /// Makes room for a receiver that gets less than one on trial.
    fn gives_way(&mut self, weight: &ReportWeight) -> bool {
        let share = |node: &NodeId| self.shares.get(node).map_or(1.0, |(share, _)| *share);
        let tried = self.aside.iter().filter(|(_, aside)| !aside.deferred).map(|(node, _)| *node);
        let best = tried.max_by(|a, b| share(a).total_cmp(&share(b)));
        let best = best.filter(|best| share(best) > weight.share);
        self.released = best.filter(|best| self.aside.remove(best).is_some());
        self.released.is_some()
    }

    fn pause(&mut self, now: Time, node: NodeId) {
        let length = self.pauses.get(&node).map_or(PAUSE_FIRST, |pause| pause.next);
        let next = (length * 2).min(PAUSE_MAX);
        self.pauses.insert(node, TrialPause { until: now + length, next });
    }

    /// Gives how many may be set aside.
    fn most(&self, receivers: usize) -> usize {
        match self.policy {
            None => 0,
            Some(TailPolicy { min_rate: None }) => receivers / 2,
            Some(TailPolicy { min_rate: Some(_) }) => receivers.saturating_sub(1),
        }
    }

    /// Says whether the receiver is slow, and whether it is fast. Neither where that is not clear.
    fn compare(&self, now: Time, weight: &ReportWeight) -> (bool, bool) {
        let is_fresh = |at: Time| now.since(at) < FRESH;
        let fresh = self.shares.values().filter(|(_, at)| is_fresh(*at));
        let mut shares: Vec<f64> = fresh.map(|(share, _)| *share).collect();
        shares.resize(shares.len().max(weight.receivers), 1.0);
        shares.sort_unstable_by(f64::total_cmp);
        match self.policy.and_then(|policy| policy.min_rate) {
            Some(least) => {
                let best = shares.last().copied().unwrap_or(1.0);
                let passes = gets(weight.rate, weight.share) >= least;
                (!passes && gets(weight.rate, best) >= least, passes)
            }
            None => {
                let middle = shares.get(shares.len() / 2).copied().unwrap_or(1.0);
                (weight.share < middle * SLOW, weight.share >= middle * RESTORED)
            }
        }
    }

    /// Leaves a finished receiver out of the comparison.
    pub(in crate::sender) fn forget(&mut self, node: NodeId) {
        self.aside.remove(&node);
        self.shares.remove(&node);
        self.pauses.remove(&node);
    }
}

fn gets(rate: Bitrate, share: f64) -> Bitrate {
    Bitrate::from_bytes_per_second(rate.as_bytes_per_second() * share)
}

impl AsideState {
    fn new(now: Time) -> Self {
        Self { since: now, slow: 0, slow_since: now, deferred: false, fast_since: None }
    }

    fn note(&mut self, now: Time, slow: bool, fast: bool) {
        if self.slow == 0 {
            self.slow_since = now;
        }
        self.slow = if slow { self.slow.saturating_add(1) } else { 0 };
        self.fast_since = if fast { self.fast_since.or(Some(now)) } else { None };
    }

    fn is_slow_for_long(&self, now: Time) -> bool {
        self.slow >= DEFERRED_REPORTS && now.since(self.slow_since) >= DEFERRED_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Bitrate = Bitrate::mbps(100);
    const LEAST: Option<Bitrate> = Some(Bitrate::mbps(20));

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn weight(node: u32, share: f64, receivers: usize) -> ReportWeight {
        let (node, grtt) = (NodeId(node), Duration::from_millis(1));
        ReportWeight { node, rate: RATE, share, lowers: share < 1.0, receivers, grtt }
    }

    fn started(min_rate: Option<Bitrate>) -> SetAside {
        let mut aside = SetAside::default();
        aside.set_policy(Some(TailPolicy { min_rate }));
        aside
    }

    /// Node 1 of three gets `share` at each of these times; what came of it.
    fn ruled(aside: &mut SetAside, share: f64, times: &[u64]) -> Vec<ReportRuling> {
        times.iter().map(|time| aside.on_report(at(*time), &weight(1, share, 3))).collect()
    }

    #[test]
    fn without_a_policy_everybody_counts() {
        let mut aside = SetAside::default();
        assert_eq!(ruled(&mut aside, 0.01, &[0, 50]), [ReportRuling::Counts; 2]);
    }

    #[test]
    fn who_gets_less_than_half_is_set_aside_at_once_and_deferred_after_a_moment() {
        let mut aside = started(None);
        let rulings = ruled(&mut aside, 0.1, &[0, 10, 15, 25]);
        use ReportRuling::{Deferred, Ignored, SetAside as Aside};
        assert_eq!(rulings, [Aside, Ignored, Ignored, Deferred]);
        assert!(aside.waits(NodeId(1)) && !aside.is_on_trial(NodeId(1)));
    }

    #[test]
    fn who_only_holds_the_rate_where_it_is_counts_again_when_its_trial_is_over_and_is_left_alone_then()
     {
        let mut aside = started(None);
        assert_eq!(
            ruled(&mut aside, 0.9, &[0, 200]),
            [ReportRuling::SetAside, ReportRuling::Ignored]
        );
        assert!(!aside.waits(NodeId(1)), "its requests are served");
        assert_eq!(ruled(&mut aside, 0.9, &[300, 400, 5_000]), [ReportRuling::Counts; 3]);
        assert_eq!(ruled(&mut aside, 0.9, &[5_301]), [ReportRuling::SetAside], "tried again");
        assert_eq!(ruled(&mut aside, 0.9, &[5_700, 11_000]), [ReportRuling::Counts; 2]);
        assert_eq!(ruled(&mut aside, 0.1, &[11_001]), [ReportRuling::SetAside], "slow by itself");
    }

    #[test]
    fn who_was_deferred_comes_back_when_all_its_reports_of_a_second_are_good() {
        let mut aside = started(None);
        ruled(&mut aside, 0.1, &[0, 10, 30]);
        assert_eq!(ruled(&mut aside, 0.9, &[100, 900]), [ReportRuling::Ignored; 2]);
        assert_eq!(ruled(&mut aside, 0.6, &[1_000, 2_500]), [ReportRuling::Ignored; 2], "between");
        assert_eq!(
            ruled(&mut aside, 0.9, &[2_600, 3_600]),
            [ReportRuling::Ignored, ReportRuling::Restored]
        );
        assert!(!aside.has(NodeId(1)));
    }

    #[test]
    fn at_most_half_are_set_aside_and_the_slower_one_takes_the_place_of_one_on_trial() {
        let mut aside = started(None);
        let mut report = |node, share| aside.on_report(at(0), &weight(node, share, 3));
        assert_eq!(report(1, 0.9), ReportRuling::SetAside);
        assert_eq!(report(2, 0.95), ReportRuling::Counts);
        assert_eq!(report(3, 0.1), ReportRuling::SetAside);
        assert_eq!(aside.take_released(), Some(NodeId(1)));
        assert!(!aside.has(NodeId(1)) && aside.has(NodeId(3)));
    }

    #[test]
    fn where_most_are_slow_nobody_is_slower_than_the_others() {
        let mut aside = started(None);
        for time in [0, 10, 30, 400, 500] {
            for node in 1..=3 {
                let ruling = aside.on_report(at(time), &weight(node, 0.1, 3));
                assert_ne!(ruling, ReportRuling::Deferred, "{node} at {time}");
            }
        }
        assert!((1..=3).all(|node| !aside.has(NodeId(node)) || aside.is_on_trial(NodeId(node))));
    }

    #[test]
    fn with_a_least_rate_all_but_one_may_be_deferred_and_nobody_where_none_gets_it() {
        let mut aside = started(LEAST);
        for time in [0, 10, 30] {
            for node in 1..=2 {
                aside.on_report(at(time), &weight(node, 0.1, 3));
            }
            assert_eq!(aside.on_report(at(time), &weight(3, 1.0, 3)), ReportRuling::Counts);
        }
        assert!((1..=2).all(|node| aside.waits(NodeId(node))));
        let mut aside = started(LEAST);
        for time in [0, 10, 30] {
            for node in 1..=3 {
                let ruling = aside.on_report(at(time), &weight(node, 0.1, 3));
                assert_ne!(ruling, ReportRuling::Deferred, "{node} at {time}");
            }
        }
        assert_eq!(aside.on_report(at(40), &weight(3, 0.5, 3)), ReportRuling::Counts, "50 Mbit/s");
    }
}
