//! Layers that were left: whether their packets still come, and how long leaving takes on this
//! network.

use fanfare_wire::units::time::{Duration, Time};

/// So long layers may go on coming after they were left, when what is too much stays what it was
/// within these bounds. IGMP version 2 takes two to three seconds (RFC 2236), version 3 two.
const LEAVE: Duration = Duration::from_secs(4);
const UNCHANGED: core::ops::Range<f64> = 0.5..2.0;
/// A leave that takes no longer is as good as at once.
const SOON: Duration = Duration::from_millis(1500);

/// What is known of leaves on this path.
#[derive(Debug, Clone)]
pub(super) struct LeaveLatency {
    /// The last answer to overload that has not shown yet: when, and how much was too much.
    cut: Option<(Time, f64)>,
    /// How long one takes, beyond what is soon.
    time: Duration,
    /// False when the last was not soon.
    work: bool,
}

impl Default for LeaveLatency {
    fn default() -> Self {
        Self { cut: None, time: Duration::ZERO, work: true }
    }
}

impl LeaveLatency {
    /// Layers are left, since so much was too much, as a share of the line.
    pub(super) fn on_cut(&mut self, now: Time, over: f64) {
        self.cut = Some((now, over));
    }
    /// Overload has ended: if it is what was left, so long leaves take here.
    pub(super) fn on_relief(&mut self, now: Time) {
        let Some((since, _)) = self.cut.take() else { return };
        let took = now.since(since);
        self.work = took <= SOON;
        self.time = if took <= SOON { Duration::ZERO } else { took.min(LEAVE) };
    }
    /// Layers were left not long ago, and no relief was seen.
    pub(super) fn are_awaited(&self, now: Time) -> bool {
        self.cut.is_some_and(|(since, _)| now.since(since) < LEAVE)
    }
    /// Whether so much too much is what was answered already.
    pub(super) fn explain(&self, now: Time, over: f64) -> bool {
        let unchanged = |(_, before): (Time, f64)| UNCHANGED.contains(&(over / before));
        self.are_awaited(now) && self.cut.is_some_and(unchanged)
    }
    /// Whether they are as good as at once.
    pub(super) fn work(&self) -> bool {
        self.work
    }
    /// How long one takes; nothing when they work.
    pub(super) fn time(&self) -> Duration {
        self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    #[test]
    fn a_layer_that_was_left_explains_its_overload_for_four_seconds() {
        let mut leaves = LeaveLatency::default();
        assert!(!leaves.are_awaited(at(0)) && !leaves.explain(at(0), 0.4));
        leaves.on_cut(at(0), 0.4);
        assert!(leaves.explain(at(3999), 0.4) && leaves.explain(at(3999), 0.25));
        assert!(!leaves.explain(at(3999), 0.9), "it is more than was answered");
        assert!(!leaves.explain(at(4000), 0.4) && !leaves.are_awaited(at(4000)));
    }

    #[test]
    fn leave_latency_is_short_when_relief_comes_soon_and_else_as_long_as_it_took() {
        let mut leaves = LeaveLatency::default();
        leaves.on_relief(at(9000));
        assert!(leaves.work(), "nothing was left");
        leaves.on_cut(at(0), 0.4);
        leaves.on_relief(at(2000));
        assert_eq!((leaves.work(), leaves.time().as_millis()), (false, 2000));
        leaves.on_cut(at(5000), 0.4);
        leaves.on_relief(at(6500));
        assert_eq!((leaves.work(), leaves.time()), (true, Duration::ZERO));
    }
}
