//! How a sender of layers divides time.

use fanfare_wire::units::time::Duration;

/// FLID-DL's slot (thesis, table 4-6).
pub(super) const SLOT: Duration = Duration::from_millis(500);

pub(super) const BURST_PACKETS: f64 = 2.0;

/// WEBRC: a time slot (TSD), an epoch (EL), and slots in which a wave channel is quiet: 300 s (QD).
/// All as RFC 3738 3.1.1 and 3.2.2.4 recommend.
pub(super) const WAVE_SLOT: Duration = Duration::from_secs(10);
pub(super) const EPOCH: Duration = Duration::from_millis(500);
pub(super) const QUIET: u8 = 30;
