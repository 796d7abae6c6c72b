//! NORM-CCE: only ECN marks count as congestion, loss does not (the paper of 2014; NRL's `ecn` with
//! `ignoreLoss`).
//!
//! It is for paths on which every router marks. There a lost message says nothing about a queue; on
//! radio links it is usually a bad signal. The sender is that of NORM-CC and sends with ECT(0). The
//! receiver has the rule below.

use super::{Limits, Mode, Norm};
use crate::Ecn;
use fanfare_wire::units::time::{Duration, Time};

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
