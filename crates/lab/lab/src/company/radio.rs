//! How the vehicles hear each other.

use std::{fmt, str::FromStr, time::Duration};

use super::fault::Fault;
use crate::name;

/// How the vehicles hear each other, and what goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Radio {
    /// They move; not all hear all, and not all the time.
    Moving,
    /// All hear all, and lose one packet in twenty.
    Fixed,
    /// All hear all, and lose nothing: what does not arrive here is the fault of how a system is set.
    Clear,
    /// All hear all, and lose one packet in ten.
    LossTen,
    /// One in five.
    LossTwenty,
    /// Three in ten.
    LossThirty,
    /// As [`Radio::Fixed`]; the broker is killed, and started again.
    BrokerKilled,
    /// As [`Radio::Fixed`]; the medium is cut in two halves, and heals.
    Partition,
    /// As [`Radio::Fixed`]; one vehicle comes later.
    Late,
}

impl Radio {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Moving,
        Self::Fixed,
        Self::Clear,
        Self::LossTen,
        Self::LossTwenty,
        Self::LossThirty,
        Self::BrokerKilled,
        Self::Partition,
        Self::Late,
    ];
    /// Those of the table.
    pub const MEASURED: [Self; 2] = [Self::Moving, Self::Fixed];

    /// Its name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Moving => "moving",
            Self::Fixed => "fixed",
            Self::Clear => "clear",
            Self::LossTen => "loss-10",
            Self::LossTwenty => "loss-20",
            Self::LossThirty => "loss-30",
            Self::BrokerKilled => "broker-killed",
            Self::Partition => "partition",
            Self::Late => "late",
        }
    }

    /// What goes wrong in the middle of a run.
    #[must_use]
    pub fn fault(self) -> Option<Fault> {
        match self {
            Self::BrokerKilled => Some(Fault::Killed),
            Self::Partition => Some(Fault::Partition),
            Self::Late => Some(Fault::Late),
            _ => None,
        }
    }

    /// As a scenario has it.
    pub(super) fn scenario(self, vehicles: usize, limit: Duration) -> String {
        let hearing = match self {
            Self::Moving => "path_loss = { company = true, limit = 139 }",
            Self::Fixed | Self::BrokerKilled | Self::Partition | Self::Late => "loss = \"5 %\"",
            Self::Clear => "",
            Self::LossTen => "loss = \"10 %\"",
            Self::LossTwenty => "loss = \"20 %\"",
            Self::LossThirty => "loss = \"30 %\"",
        };
        format!(
            "[scenario]\nname = \"company-{}\"\nduration = \"{}s\"\n\
             [[node]]\nname = \"v\"\ncount = {vehicles}\nhost = true\n\
             [[medium]]\nnodes = \"v*\"\nrate = \"600kbps\"\ndelay = \"1ms\"\n{hearing}\n",
            self.name(),
            limit.as_secs()
        )
    }
}

impl fmt::Display for Radio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Radio {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        name::find(text, Self::ALL, Self::name, "no radio is called so")
    }
}
