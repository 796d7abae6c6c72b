//! Choice of reports that count: a receiver that is much slower than the others is set aside, and served when
//! they have everything ([`super::set_aside`]).

use super::{
    lossy_receivers::{LossReport, SentProbe},
    set_aside::{ReportRuling, ReportWeight},
};
use crate::{
    congestion::Feedback,
    sender::Sender,
    tail_policy::TailPolicy,
    time::{Duration, Time},
};
use fanfare_wire::NodeId;

/// A receiver that limits the rate may have been silent for so long, and for so many of its round trips,
/// while others answer. Then it may have lost everything, and is not waited for. Long enough for a scheduler.
const SILENT_MIN: Duration = Duration::from_millis(30);
const SILENT_RTTS: u32 = 4;

impl Sender {
    /// Finishes slow receivers after the others from now on, or no more.
    pub fn set_tail(&mut self, policy: Option<TailPolicy>) {
        for node in self.aside.set_policy(policy) {
            self.slow.defer(node, false);
        }
    }

    /// `node` needs nothing more.
    pub fn finish(&mut self, now: Time, node: NodeId) {
        self.now = self.now.max(now);
        if !self.aside.is_on() {
            return;
        }
        self.finished.insert(node);
        self.aside.forget(node);
        self.slow.defer(node, false);
        self.controller.on_left(self.now, node);
        if self.unfinished().all(|node| self.slow.is_deferred(node)) {
            self.begin_tail();
            // They are compared with each other.
            self.slow.end_tail();
        }
    }

    fn unfinished(&self) -> impl Iterator<Item = NodeId> {
        let counts = |node: &NodeId| !self.slow.is_evicted(*node) && !self.finished.contains(node);
        self.receivers.nodes().filter(counts)
    }

    /// Serves those that were deferred from now on, at their rate.
    pub(in crate::sender) fn begin_tail(&mut self) {
        let deferred = self.aside.take_all();
        if !deferred.iter().any(|node| self.slow.is_deferred(*node)) {
            return;
        }
        for node in deferred {
            self.slow.defer(node, false);
        }
        // What was learned is about the paths of the others.
        self.restart_congestion(self.now);
    }

    /// Tells whether what `node` says counts for the rate and the round trip of the group.
    pub(in crate::sender) fn counts(&mut self, node: NodeId, feedback: Option<&Feedback>) -> bool {
        if !self.is_heard_at_any_rate(node, feedback) {
            return false;
        }
        if !self.aside.is_on() || self.slow.is_tail() {
            return true;
        }
        let outlook = feedback.and_then(|f| Some((f, self.controller.outlook(self.now, f)?)));
        let Some((feedback, outlook)) = outlook else { return !self.aside.has(node) };
        let share = match feedback.path {
            Some(path) => path.to_pace().min(1.0 - path.loss()),
            None => outlook,
        };
        self.rule(node, share.clamp(0.0, 1.0), outlook < 1.0)
    }

    /// False if `node` loses nearly everything at any rate, and others do not.
    fn is_heard_at_any_rate(&mut self, node: NodeId, feedback: Option<&Feedback>) -> bool {
        let report = feedback.and_then(|feedback| Some((feedback.cc_sequence, feedback.path?)));
        let Some((probe, path)) = report else { return !self.lossy.has(node) };
        let rate = self.controller.rate();
        let report = LossReport { node, probe, share: 1.0 - path.loss(), rate };
        self.lossy.on_report(self.now, &report)
    }

    /// A probe goes out: who limits the rate, and loses nearly everything at any rate, is not waited for.
    pub(in crate::sender) fn pass_over_lossy(&mut self) {
        let probe = SentProbe { rate: self.controller.rate(), message: self.coding.segment_size };
        let now = self.now;
        let limiting = self.controller.limiting();
        let left = limiting.iter().filter(|(node, _)| self.lossy.on_probe(now, *node, &probe));
        if left.count() > 0 {
            // What was learned is about its path.
            self.restart_congestion(now);
        }
    }

    /// The same by what it has lost, which not every controller asks for.
    pub(in crate::sender) fn counts_by_share(&mut self, node: NodeId) {
        if self.aside.is_on() && !self.slow.is_tail() && self.controller.mode().is_none() {
            self.rule(node, self.receivers.share(node), false);
        }
    }

    fn rule(&mut self, node: NodeId, share: f64, lowers: bool) -> bool {
        let weight = ReportWeight {
            node,
            rate: self.controller.rate(),
            share,
            lowers,
            receivers: self.unfinished().count(),
            grtt: self.grtt(),
        };
        let ruling = self.aside.on_report(self.now, &weight);
        if ruling == ReportRuling::SetAside {
            self.controller.on_left(self.now, node);
        }
        if let Some(other) = self.aside.take_released() {
            self.slow.defer(other, false);
        }
        // A report that says that it is slow is enough to put its requests off: of what it lost in a
        // moment it would request more than is sent in that moment.
        let waits = self.aside.waits(node);
        if waits || self.slow.is_deferred(node) {
            self.slow.defer(node, waits);
        }
        matches!(ruling, ReportRuling::Counts | ReportRuling::Restored)
    }

    /// Tells whether the rate is not lowered for what a receiver's own machine drops.
    pub(in crate::sender) fn is_overrun_ignored(&mut self, node: NodeId) -> bool {
        self.aside.has(node)
    }

    /// A probe goes out: who limits the rate and is silent, while others answer, is not waited for.
    pub(in crate::sender) fn pass_over_silent(&mut self) {
        if !self.aside.is_on() || self.slow.is_tail() {
            return;
        }
        let Some((node, _)) = self.controller.limiting().first().copied() else { return };
        let Some(heard) = self.receivers.heard(node) else { return };
        let rtt = self.receivers.rtt(node).unwrap_or(self.grtt());
        let silent = self.now.since(heard) >= SILENT_MIN.max(rtt * SILENT_RTTS);
        let others = self.unfinished().filter(|other| *other != node);
        let answered = others
            .filter_map(|other| self.receivers.heard(other))
            .any(|at| at > heard + SILENT_MIN / 2);
        let receivers = self.unfinished().count();
        if silent && answered && self.aside.on_silent(self.now, node, receivers) {
            self.controller.on_left(self.now, node);
        }
    }
}
