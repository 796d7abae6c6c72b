//! NORM-CCE: routers' marks are congestion, loss is not (seed paper of 2014; NRL's `ecn` with
//! `ignoreLoss`).
//!
//! For paths whose every router marks: a lost message says nothing of a queue there, and on radio
//! says mostly that the radio is bad. The sender is NORM-CC's, with ECT(0); the rule below is the
//! receiver's.

use super::{Limits, Mode, Norm};
use crate::Ecn;
use fanfare_units::time::{Duration, Time};

/// A queue that marks by its momentary length marks twice for one congestion, as it fills and as it
/// drains: within two round trips it is one event (NRL's window).
const WINDOW_RTTS: u32 = 2;

/// The sending half.
pub(crate) fn controller(now: Time, limits: Limits) -> Norm {
    Norm::new(now, limits, Mode::Ecn).marked(Ecn::Ect0)
}

/// Whether a message that came after `lost` others, `marked` or not, tells of congestion.
pub(crate) fn is_event(_lost: u64, marked: bool) -> bool {
    marked
}

/// How long one congestion may last.
pub(crate) fn window(rtt: Duration) -> Duration {
    rtt * WINDOW_RTTS
}
