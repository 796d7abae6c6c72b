//! NORM-CC: as a TCP flow on the path to the slowest receiver would (RFC 5740 5.5.2, RFC 4654).

use super::{Feedback, Limits, Mode, Probing, RateController, Reason};
use crate::{
    rate::Bitrate,
    time::{Duration, Time},
};
use alloc::{vec, vec::Vec};
use fanfare_wire::{NodeId, ext::CcFlags};

/// The sender's half of TFMCC.
#[derive(Debug)]
pub struct Norm {
    limits: Limits,
    mode: Mode,
    rate: Bitrate,
    limiting: Option<NodeId>,
}

impl Norm {
    /// Starts at one segment per round trip.
    #[must_use]
    pub fn new(_now: Time, limits: Limits, mode: Mode) -> Self {
        let start = limits.segment as f64 / limits.rtt.as_secs_f64().max(1e-3);
        let rate = limits.clamp(Bitrate::from_bytes_per_second(start));
        Self { limits, mode, rate, limiting: None }
    }
}

impl RateController for Norm {
    fn on_feedback(&mut self, _now: Time, feedback: &Feedback) {
        if self.limiting.is_none() || feedback.rate < self.rate {
            self.limiting = Some(feedback.node);
        }
        if self.limiting == Some(feedback.node) {
            self.rate = self.limits.clamp(feedback.rate);
        }
    }
    fn on_probe(&mut self, _now: Time, _probing: &Probing) {}
    fn on_rate_set(&mut self, _now: Time, rate: Bitrate) {
        self.limits.max = rate;
        self.rate = self.limits.clamp(self.rate);
    }
    fn rate(&self) -> Bitrate {
        self.rate
    }
    fn reason(&self) -> Reason {
        self.limiting.map_or(Reason::NoFeedback, Reason::Path)
    }
    fn mode(&self) -> Option<Mode> {
        Some(self.mode)
    }
    fn probe_interval(&self, grtt: Duration) -> Option<Duration> {
        Some(grtt)
    }
    fn limiting(&self) -> Vec<(NodeId, CcFlags)> {
        self.limiting.map_or(Vec::new(), |node| vec![(node, CcFlags(CcFlags::CLR))])
    }
}
