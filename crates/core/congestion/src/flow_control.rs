//! Flow control: slows down for receivers whose socket buffer overruns, under any controller.
//!
//! Such a receiver is too slow itself; its network is not. What it lost must be repaired by sending
//! more, which it cannot take either. So the rate falls to what it can take, and recovers slowly.

use fanfare_wire::NodeId;
use fanfare_wire::units::{
    rate::Bitrate,
    time::{Duration, Time},
};

/// What one overrun leaves of the rate: two in a row halve it.
const CUT: f64 = 0.7;
/// No more is cut than this: a receiver that takes a hundredth is for `--slow` to deal with.
const LEAST: f64 = 0.01;
/// A cut is felt only when a receiver's full buffer has drained: 32 MiB at 1 Gbit/s.
const FELT: Duration = Duration::from_millis(250);
/// Then so much of what was cut comes back in a second.
const RECOVERY: f64 = 0.1;

/// What was taken off last.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// What it left of the rate.
    share: f64,
    at: Time,
    /// Whose overrun it was.
    node: NodeId,
}

/// The brake.
#[derive(Debug)]
pub struct FlowControl {
    cut: Option<Cut>,
}

impl Default for FlowControl {
    fn default() -> Self {
        Self::new()
    }
}

impl FlowControl {
    /// Nothing is held back yet.
    #[must_use]
    pub fn new() -> Self {
        Self { cut: None }
    }

    /// A receiver's buffer has run over. True when the rate falls for it.
    pub fn on_overrun(&mut self, now: Time, node: NodeId) -> bool {
        if self.cut.is_some_and(|cut| now.since(cut.at) < FELT) {
            return false;
        }
        let share = (self.share(now) * CUT).max(LEAST);
        self.cut = Some(Cut { share, at: now, node });
        true
    }

    /// What of the rate may be sent.
    pub fn share(&self, now: Time) -> f64 {
        let Some(Cut { share, at, .. }) = self.cut else { return 1.0 };
        let since = now.since(at).saturating_sub(FELT).as_secs_f64();
        (share + RECOVERY * since).min(1.0)
    }

    /// Whose overrun it is that takes something off the rate.
    pub fn node(&self, now: Time) -> Option<NodeId> {
        self.cut.filter(|_| self.share(now) < 1.0).map(|cut| cut.node)
    }

    /// A rate as it may be sent.
    pub fn flow_control(&self, now: Time, rate: Bitrate) -> Bitrate {
        match self.cut {
            None => rate,
            Some(_) => Bitrate::bps((rate.as_bps() as f64 * self.share(now)) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    const NODE: NodeId = NodeId(7);

    #[test]
    fn overruns_of_one_buffer_cut_once_and_later_ones_again() {
        let mut flow_control = FlowControl::new();
        let cuts = (0..10).filter(|n| flow_control.on_overrun(at(n * 50), NODE)).count();
        assert_eq!(cuts, 2);
        let rate = flow_control.flow_control(at(450), Bitrate::mbps(1000));
        assert!((489..=491).contains(&(rate.as_bps() / 1_000_000)), "{rate}");
    }

    #[test]
    fn without_overruns_the_whole_rate_comes_back_within_seconds() {
        let mut flow_control = FlowControl::new();
        assert_eq!(flow_control.flow_control(at(0), Bitrate::mbps(10)), Bitrate::mbps(10));
        flow_control.on_overrun(at(0), NODE);
        assert_eq!(flow_control.node(at(1250)), Some(NODE));
        assert!(flow_control.share(at(1250)) < 0.81 && flow_control.share(at(1250)) > 0.79);
        assert_eq!(flow_control.flow_control(at(4000), Bitrate::mbps(10)), Bitrate::mbps(10));
        assert_eq!(flow_control.node(at(4000)), None);
    }

    #[test]
    fn some_rate_is_always_left() {
        let mut flow_control = FlowControl::new();
        (0..100).for_each(|n| {
            flow_control.on_overrun(at(n * 250), NODE);
        });
        assert!(flow_control.share(at(24_750)) >= LEAST);
    }
}
