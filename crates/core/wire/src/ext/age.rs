//! EXT_AGE, ours: how long ago a message was published, as a duration, so that no clocks need agree.
//! Travels in NORM_INFO, and in CMD(APPLICATION) with several messages once for each that is old.
//! NRL's receivers skip it.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   het = 194   |     which     |              age              |
//! +---------------+---------------+-------------------------------+
//! ```
//!
//! `age` is in seconds below 2^15; from there on the highest bit is set and the rest counts 64 seconds.

use alloc::vec::Vec;

/// How old one of the messages in a datagram is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtAge {
    /// Which of them, from 0; a NORM_INFO is the only one.
    pub which: u8,
    steps: u16,
}

impl ExtAge {
    /// Header extension type; from 192 on nobody else's.
    pub const HET: u8 = 194;
    /// Bytes on the wire.
    pub const LEN: usize = 4;
    /// Set where a step is longer than a second.
    const LONG: u16 = 1 << 15;
    /// Seconds of a long step: 2^15 of them are 24 days, more than anybody keeps messages.
    const LONG_STEP: u64 = 64;

    /// For so many seconds, rounded down, so that no message seems older than it is.
    #[must_use]
    pub fn of_seconds(which: u8, seconds: u64) -> Self {
        let most = u64::from(Self::LONG - 1);
        let long = |steps: u64| Self::LONG | steps.min(most) as u16;
        let steps = if seconds <= most { seconds as u16 } else { long(seconds / Self::LONG_STEP) };
        Self { which, steps }
    }

    /// Seconds.
    #[must_use]
    pub fn seconds(self) -> u64 {
        match self.steps & Self::LONG {
            0 => u64::from(self.steps),
            _ => u64::from(self.steps & !Self::LONG) * Self::LONG_STEP,
        }
    }

    /// From the three bytes behind the type.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let &[which, high, low] = content else {
            return None;
        };
        Some(Self { which, steps: u16::from_be_bytes([high, low]) })
    }

    /// The extension's bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        let [high, low] = self.steps.to_be_bytes();
        [Self::HET, self.which, high, low]
    }

    /// Appends the extension.
    pub fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext::Extensions;

    #[test]
    fn ages_come_back_rounded_down_and_never_older() {
        for (seconds, read) in [
            (0, 0),
            (600, 600),
            (32_767, 32_767),
            (32_768, 32_768),
            (32_831, 32_768),
            (86_400, 86_400),
            (u64::MAX, 32_767 * 64),
        ] {
            assert_eq!(ExtAge::of_seconds(0, seconds).seconds(), read, "{seconds}");
        }
    }

    #[test]
    fn golden_bytes_of_the_ages_of_two_messages() {
        let mut bytes = Vec::new();
        ExtAge::of_seconds(0, 600).append(&mut bytes);
        ExtAge::of_seconds(3, 40_000).append(&mut bytes);
        assert_eq!(bytes, [194, 0, 0x02, 0x58, 194, 3, 0x82, 0x71]);
        let read = Extensions::parse(&bytes).unwrap();
        let seconds = |which| read.age(which).map(ExtAge::seconds);
        assert_eq!([0, 1, 3].map(seconds), [Some(600), None, Some(40_000)]);
    }
}
