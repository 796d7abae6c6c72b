//! The systems that are compared: the real software from its package, with its best fair settings
//! (docs/reference/measuring.md says which, and why).
//!
//! A peer knows how it is found or compiled, and which commands receive and send one file. What is
//! measured, and when, is the same for all: `reproduce` on an emulated network, `bench` on the
//! kernel's.
//!
//! - `task`: what each has to do; `launch`: how one is started
//! - `fanfare`, `norm`, `openpgm`, `jgroups`, `uftp`, `udpcast`, `tcp`: one system each
//! - `unicast_peer`: protocols between two hosts
//! - `messaging`: systems that carry messages instead of a file; `message_programs`: others, for
//!   `bench messages`
//! - `delivery`: all programs of one transfer, until every receiver has the file

pub(crate) mod delivery;
mod fanfare;
mod jgroups;
mod launch;
pub(crate) mod message_programs;
pub(crate) mod messaging;
mod norm;
mod norm_stream;
mod openpgm;
mod task;
mod tcp;
mod udpcast;
mod uftp;
mod unicast_peer;

use crate::programs::build;
pub(crate) use crate::programs::{
    program::{self, Sign},
    tools::Tools,
};
use crate::{error::LabError, name};
pub(crate) use fanfare::{
    GROUP as FANFARE_GROUP, parity as fanfare_parity, rate as fanfare_rate,
    version as fanfare_version,
};
pub(crate) use launch::{Launch, Peer};
pub(crate) use norm_stream::StreamPeer;
use std::{fmt, str::FromStr};
pub use task::Parity;
pub(crate) use task::{HEADERS, SEGMENT, Task};
pub(crate) use unicast_peer::Library;

/// Packets of at least so many bytes carry data: announcements, joins and requests are shorter.
pub(crate) const DATA_MIN: usize = 1000;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum System {
    /// This program.
    Fanfare,
    /// NRL's NORM (libnorm).
    Norm,
    /// OpenPGM (libpgm).
    OpenPgm,
    /// JGroups.
    JGroups,
    /// UFTP.
    Uftp,
    /// udpcast.
    Udpcast,
    /// The kernel's TCP, a connection to each receiver.
    Tcp,
}

impl System {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 7] = [
        Self::Fanfare,
        Self::Norm,
        Self::OpenPgm,
        Self::JGroups,
        Self::Uftp,
        Self::Udpcast,
        Self::Tcp,
    ];

    /// Its name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fanfare => "fanfare",
            Self::Norm => "norm",
            Self::OpenPgm => "openpgm",
            Self::JGroups => "jgroups",
            Self::Uftp => "uftp",
            Self::Udpcast => "udpcast",
            Self::Tcp => "tcp",
        }
    }

    /// Memory that one of its programs takes, bytes: how many trials may run side by side. From
    /// the measured peaks, rounded up.
    pub(crate) fn memory(self) -> u64 {
        match self {
            Self::JGroups => 200 << 20,
            Self::Norm => 100 << 20,
            _ => 40 << 20,
        }
    }

    /// Finds or compiles it.
    ///
    /// # Errors
    /// Which package is missing.
    pub(crate) fn prepare(self, tools: &Tools) -> Result<Box<dyn Peer>, LabError> {
        match self {
            Self::Fanfare => fanfare::prepare(tools),
            Self::Norm => norm::prepare(tools),
            Self::OpenPgm => openpgm::prepare(tools),
            Self::JGroups => jgroups::prepare(tools),
            Self::Uftp => uftp::prepare(),
            Self::Udpcast => udpcast::prepare(),
            Self::Tcp => tcp::prepare(tools),
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for System {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        name::find(text, Self::ALL, Self::name, "not a system")
    }
}
