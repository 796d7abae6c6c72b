//! How a sender of layers divides time.

use fanfare_units::time::Duration;

/// FLID-DL's slot (thesis, table 4-6).
pub(super) const SLOT: Duration = Duration::from_millis(500);

pub(super) const BURST_PACKETS: f64 = 2.0;
