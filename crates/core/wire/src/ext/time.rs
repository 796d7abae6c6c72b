//! EXT_TIME, ours: when a message was sent, so that receivers see queues grow. NRL's receivers skip
//! it.
//!
//! ```text
//! +---------------+-----------------------------------------------+
//! |   het = 192   |          send time, microseconds mod 2^24     |
//! +---------------+-----------------------------------------------+
//! ```

use alloc::vec::Vec;

/// The sender's clock at sending, in microseconds modulo 2^24 (16.8 s).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtTime(u32);

impl ExtTime {
    /// Header extension type; from 192 on nobody else's.
    pub const HET: u8 = 192;
    /// The clock wraps here.
    pub const MODULUS: u32 = 1 << 24;

    /// Of a clock in microseconds.
    #[must_use]
    pub const fn of_micros(micros: u64) -> Self {
        Self((micros % Self::MODULUS as u64) as u32)
    }

    /// Microseconds, below [`Self::MODULUS`].
    #[must_use]
    pub const fn micros(self) -> u32 {
        self.0
    }

    /// From the three bytes behind the type.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let &[high, middle, low] = content else {
            return None;
        };
        Some(Self(u32::from_be_bytes([0, high, middle, low])))
    }

    /// The extension's bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 4] {
        let [_, high, middle, low] = self.0.to_be_bytes();
        [Self::HET, high, middle, low]
    }

    /// Appends the extension.
    pub fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }
}
