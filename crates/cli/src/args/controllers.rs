//! Rate controllers, as users name them.

use clap::ValueEnum;
use fanfare_node::proto::CongestionControl;

/// Rate controllers, as users name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Cc {
    /// Measure the queueing delay of the slowest path; loss alone does not slow it down
    Auto,
    /// NORM-CC: share links fairly with TCP; every loss counts as congestion
    Norm,
    /// NORM-CCE: only marks of routers (ECN) count as congestion
    Ecn,
    /// NORM-CCL: an isolated loss does not count as congestion
    LossTolerant,
    /// Exactly --rate; slower only when a buffer is full
    Fixed,
    /// ERA: each receiver chooses its layers; only with --layers
    Era,
}

impl Cc {
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// What a sender without layers goes by.
    pub(super) fn control(self) -> CongestionControl {
        match self {
            Self::Auto => CongestionControl::Auto,
            Self::Norm => CongestionControl::Norm,
            Self::Ecn => CongestionControl::Ecn,
            Self::LossTolerant => CongestionControl::LossTolerant,
            // With layers the sender's own rate is fixed.
            Self::Fixed | Self::Era => CongestionControl::Fixed,
        }
    }
}
