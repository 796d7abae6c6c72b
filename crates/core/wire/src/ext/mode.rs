//! EXT_MODE, ours: how receivers are to measure for congestion control. Travels in CMD(CC); NRL's
//! receivers skip it and measure as RFC 5740 says.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   het = 193   |     mode      |           reserved            |
//! +---------------+---------------+-------------------------------+
//! ```

use alloc::vec::Vec;

/// What counts as congestion, by number; a number not known reads as 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtMode {
    /// 1: loss and marks (NORM-CC). 2: marks alone (CCE). 3: loss that is not isolated, and marks
    /// (CCL). 4: a path report (EXT_PATH) is wanted with each answer.
    pub mode: u8,
}

impl ExtMode {
    /// Header extension type; from 192 on nobody else's.
    pub const HET: u8 = 193;
    /// NORM-CC.
    pub const NORM: u8 = 1;
    /// NORM-CCE.
    pub const ECN: u8 = 2;
    /// NORM-CCL.
    pub const LOSS_TOLERANT: u8 = 3;
    /// Path reports.
    pub const PATH: u8 = 4;

    /// From the three bytes behind the type.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let &[mode, _, _] = content else {
            return None;
        };
        Some(Self { mode })
    }

    /// The extension's bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 4] {
        [Self::HET, self.mode, 0, 0]
    }

    /// Appends the extension.
    pub fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }
}
