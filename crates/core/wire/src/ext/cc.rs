//! EXT_CC: congestion control feedback (RFC 5740 4.2.3.5).
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |    het = 3    |    hel = 3    |          cc_sequence          |
//! +---------------+---------------+-------------------------------+
//! |   cc_flags    |    cc_rtt     |    cc_loss (high 16 bits)     |
//! +---------------+---------------+-------------------------------+
//! |            cc_rate            | reserved; NRL: low 16 of loss |
//! +-------------------------------+-------------------------------+
//! ```

use crate::{QuantizedLoss, QuantizedRate, QuantizedRtt};
use alloc::vec::Vec;
use core::fmt;

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

/// Names of the flags set, joined by `|`; `-` for none.
impl fmt::Display for CcFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 6] = ["CLR", "PLR", "RTT", "START", "LEAVE", "LIMIT"];
        crate::show::write_flags(f, self.0, &NAMES)
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

impl ExtCc {
    /// Header extension type.
    pub const HET: u8 = 3;
    /// Bytes on the wire.
    pub const LEN: usize = 12;

    /// From the bytes behind type and length; `None` when they are not ten.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let &[s0, s1, flags, rtt, h0, h1, r0, r1, l0, l1] = content else {
            return None;
        };
        Some(Self {
            cc_sequence: u16::from_be_bytes([s0, s1]),
            flags: CcFlags(flags),
            rtt: QuantizedRtt(rtt),
            loss: QuantizedLoss(u32::from_be_bytes([h0, h1, l0, l1])),
            rate: QuantizedRate(u16::from_be_bytes([r0, r1])),
        })
    }

    /// Appends the extension.
    pub fn append(&self, out: &mut Vec<u8>) {
        let [h0, h1, l0, l1] = self.loss.0.to_be_bytes();
        out.extend_from_slice(&[Self::HET, 3]);
        out.extend_from_slice(&self.cc_sequence.to_be_bytes());
        out.extend_from_slice(&[self.flags.0, self.rtt.0, h0, h1]);
        out.extend_from_slice(&self.rate.0.to_be_bytes());
        out.extend_from_slice(&[l0, l1]);
    }
}

impl fmt::Display for ExtCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cc_sequence, flags, rtt, loss, rate } = self;
        write!(f, "cc(seq {cc_sequence} {flags} rtt {rtt} loss {loss} rate {rate})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_travels_in_two_halves() {
        let cc = ExtCc {
            cc_sequence: 0x075f,
            flags: CcFlags(CcFlags::CLR | CcFlags::RTT | CcFlags::LIMIT),
            rtt: QuantizedRtt(0x39),
            loss: QuantizedLoss(0x1234_7507),
            rate: QuantizedRate(0x1a36),
        };
        let mut out = Vec::new();
        cc.append(&mut out);
        assert_eq!(out, [3, 3, 0x07, 0x5f, 0x25, 0x39, 0x12, 0x34, 0x1a, 0x36, 0x75, 0x07]);
        assert_eq!(ExtCc::read(&out[2..]), Some(cc));
    }
}
