//! The start of a transfer: sets the first rate and GRTT from the answers to the roll call.
//!
//! Without these answers the sender starts with guesses. It has to keep them until the first answer
//! to a probe arrives, and that answer waits for a backoff of the guessed GRTT.

use crate::{
    congestion::{Feedback, Mode},
    rate::Bitrate,
    sender::Sender,
    time::Time,
};
use fanfare_wire::ext::CcFlags;

/// Of a pair of good-byes both are lost by one in 2,500 then.
const LOSS_LITTLE: f64 = 0.02;

impl Sender {
    /// Holds INFO, DATA and flushes back, or lets them go.
    pub fn hold(&mut self, now: Time, hold: bool) {
        self.now = self.now.max(now);
        // Who holds back waits for those it expects: by their answers the first data goes, not by
        // a guess that would rule every back-off of a short transfer.
        if self.held && !hold && self.receivers.all_measured() {
            self.grtt.settle(self.now);
            self.begin_by_answers();
        }
        self.held = hold;
        self.advertise_grtt();
    }

    /// The farthest of those that have answered is told to the controller as if it had answered a probe:
    /// it has told its round trip, and nothing of its path. So it answers the first probes at once, and
    /// if it is near, nobody is far.
    fn begin_by_answers(&mut self) {
        if self.controller.mode() != Some(Mode::Path) {
            return;
        }
        let farthest =
            self.receivers.farthest(|node| self.heeded.has(node) && !self.aside.has(node));
        let Some((node, rtt)) = farthest else { return };
        self.controller.on_farthest(self.now, self.receivers.nearest(node).unwrap_or(rtt));
        self.controller.on_feedback(
            self.now,
            &Feedback {
                node,
                cc_sequence: self.probe.sequence(),
                sample: Some(rtt),
                rtt: Some(rtt),
                nearest: self.receivers.nearest(node),
                loss: 0.0,
                rate: Bitrate::bps(0),
                flags: CcFlags(CcFlags::START),
                path: None,
            },
        );
        self.hasten_probe();
    }

    /// Whether all who were heard have acknowledged the last watermark, and lose next to nothing.
    pub(in crate::sender) fn may_leave_quickly(&self) -> bool {
        let mut served =
            self.receivers.nodes().filter(|node| !self.slow.is_evicted(*node)).peekable();
        let content = |node| {
            self.watermark.has_acknowledged(node) && self.receivers.share(node) >= 1.0 - LOSS_LITTLE
        };
        served.peek().is_some() && served.all(content)
    }

    /// The controller has learned a path's round trip: what was to be probed by a guess is probed by that.
    pub(in crate::sender) fn hasten_probe(&mut self) {
        if self.controller.mode() != Some(Mode::Path) {
            return;
        }
        if let Some(interval) = self.rate_bound_interval() {
            self.probe.hasten(self.now, interval);
        }
    }
}
