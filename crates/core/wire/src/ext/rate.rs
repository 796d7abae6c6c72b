//! EXT_RATE: the sender's present rate, which also requests feedback (RFC 5740 4.2.3.4).
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   het = 128   |   reserved    |           send_rate           |
//! +---------------+---------------+-------------------------------+
//! ```

use crate::QuantizedRate;
use alloc::vec::Vec;

/// Sender rate; its presence in CMD(CC) makes receivers answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtRate {
    /// Bytes per second.
    pub rate: QuantizedRate,
}

impl ExtRate {
    /// Header extension type; from 128 on an extension is one word and has no length field.
    pub const HET: u8 = 128;

    /// From the three bytes behind the type.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let &[_reserved, high, low] = content else {
            return None;
        };
        Some(Self { rate: QuantizedRate(u16::from_be_bytes([high, low])) })
    }

    /// Appends the extension.
    pub fn append(&self, out: &mut Vec<u8>) {
        let [high, low] = self.rate.0.to_be_bytes();
        out.extend_from_slice(&[Self::HET, 0, high, low]);
    }
}
