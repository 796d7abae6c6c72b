//! EXT_CC: congestion control feedback (RFC 5740 4.2.3.5).

use crate::{QuantizedLoss, QuantizedRate, QuantizedRtt};

/// Flags of EXT_CC and of CMD(CC) node items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CcFlags(pub u8);

impl CcFlags {
    /// Current limiting receiver.
    pub const CLR: u8 = 0x01;
    /// Potential limiting receiver.
    pub const PLR: u8 = 0x02;
    /// Has a confirmed RTT measurement.
    pub const RTT: u8 = 0x04;
    /// Still in slow start: no loss yet.
    pub const START: u8 = 0x08;
    /// Leaves the group.
    pub const LEAVE: u8 = 0x10;
    /// NRL: the rate is twice the measured receive rate, below the equation's.
    pub const LIMIT: u8 = 0x20;

    /// Whether all bits of `mask` are set.
    #[must_use]
    pub const fn has(self, mask: u8) -> bool {
        self.0 & mask == mask
    }
}

/// What a receiver reports about its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtCc {
    /// `cc_sequence` of the probe last heard.
    pub cc_sequence: u16,
    /// Flags.
    pub flags: CcFlags,
    /// RTT as the sender last told it, or the group's.
    pub rtt: QuantizedRtt,
    /// Loss event fraction, both halves (see [`QuantizedLoss`]).
    pub loss: QuantizedLoss,
    /// Rate it would stand.
    pub rate: QuantizedRate,
}
