//! Decisions about slow receivers.

/// Decision about a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowVerdict {
    /// It is served after the others.
    Deferred,
    /// It is served as the others again.
    Restored,
    /// It is given up.
    Evicted,
}

impl SlowVerdict {
    /// Stable name for JSON and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deferred => "deferred",
            Self::Restored => "restored",
            Self::Evicted => "evicted",
        }
    }
}
