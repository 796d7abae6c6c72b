//! Rate controllers, as users name them.

use clap::ValueEnum;
use fanfare_node::proto::{Bitrate, CongestionControl, SenderConfig};

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

/// Those of a sender that has no layers: of a stream, or of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FlatCc {
    /// Measure the queueing delay of the slowest path
    Auto,
    /// NORM-CC: share links fairly with TCP
    Norm,
    /// NORM-CCE: only marks of routers (ECN) count as congestion
    Ecn,
    /// NORM-CCL: an isolated loss does not count as congestion
    LossTolerant,
    /// Exactly --rate
    Fixed,
}

impl From<FlatCc> for CongestionControl {
    fn from(cc: FlatCc) -> Self {
        match cc {
            FlatCc::Auto => Self::Auto,
            FlatCc::Norm => Self::Norm,
            FlatCc::Ecn => Self::Ecn,
            FlatCc::LossTolerant => Self::LossTolerant,
            FlatCc::Fixed => Self::Fixed,
        }
    }
}

/// The rate of a sender for which nobody has set one: the most that its controller may find, or a fixed one.
pub(super) fn default_rate(control: CongestionControl) -> Bitrate {
    match control {
        CongestionControl::Fixed => SenderConfig::default().rate,
        _ => SenderConfig::RATE_MAX,
    }
}
