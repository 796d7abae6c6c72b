//! The systems that are compared: the real software from its package, with its best fair settings
//! (docs/reference/measuring.md says which, and why).
//!
//! A peer knows how it is found or compiled, and which commands receive and send one file. What is
//! measured, and when, is the same for all: `reproduce` on an emulated network, `bench` on the
//! kernel's.
//!
//! - `fanfare`, `norm`, `openpgm`, `jgroups`, `uftp`, `udpcast`, `tcp`: one system each
//! - `messaging`: systems that carry messages instead of a file
//! - `build`: compiles and downloads; `program`: a started program, its output and its resources;
//!   `delivery`: all programs of one transfer, until every receiver has the file

mod build;
pub(crate) mod delivery;
mod fanfare;
mod jgroups;
pub(crate) mod messaging;
mod norm;
mod norm_stream;
mod openpgm;
pub(crate) mod program;
mod tcp;
mod udpcast;
mod uftp;

use crate::{error::LabError, host::Host, name};
pub(crate) use fanfare::{
    GROUP as FANFARE_GROUP, parity as fanfare_parity, rate as fanfare_rate,
    version as fanfare_version,
};
pub(crate) use norm_stream::StreamPeer;
use std::{
    fmt,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::Command,
    str::FromStr,
    time::Duration,
};

/// IPv4 and UDP before each datagram.
pub(crate) const HEADERS: u64 = 28;
/// Bytes of content in a full packet, for all that can be told: what the paper of Tables 1 and 2
/// gave each system.
pub(crate) const SEGMENT: u64 = 1400;
/// Packets of at least so many bytes carry data: announcements, joins and requests are shorter.
pub(crate) const DATA_MIN: usize = 1000;

/// Shorter round trips are the programs' scheduling.
const ROUND_TRIP_MIN: Duration = Duration::from_millis(10);

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

/// Where peers are found and made.
#[derive(Debug, Clone)]
pub(crate) struct Tools {
    /// Our own program.
    pub(crate) fanfare: PathBuf,
    /// Where compiled and fetched peers are kept.
    pub(crate) cache: PathBuf,
}

impl Tools {
    /// With peers in the user's cache.
    pub(crate) fn of(fanfare: &Path) -> Self {
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
        let cache = base.unwrap_or_else(std::env::temp_dir).join("fanfare/peers");
        Self { fanfare: fanfare.to_owned(), cache }
    }
}

/// One file to everybody.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    /// The file.
    pub(crate) source: PathBuf,
    pub(crate) receivers: Vec<Ipv4Addr>,
    /// What each link carries, bit/s of IP packets.
    pub(crate) capacity: u64,
    /// There and back, without queues.
    pub(crate) round_trip: Duration,
    /// After so long the trial is given up.
    pub(crate) limit: Duration,
    /// Parity sent with every block unasked, by systems that have erasure codes.
    pub(crate) parity: Option<Parity>,
}

/// Source symbols of a block, and parity symbols sent with each, unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parity {
    /// Source symbols.
    pub block: u16,
    /// Parity symbols.
    pub parity: u16,
}

impl Task {
    /// The rate at which a full packet takes the whole link, for a system whose limiter counts
    /// `counted` of its bytes and not the `uncounted`.
    pub(crate) fn rate_of(&self, counted: u64, uncounted: u64) -> u64 {
        self.capacity * counted / (counted + uncounted)
    }

    /// The round-trip time that a system which wants to be told one is told: two packets on the
    /// line, and what the network adds.
    pub(crate) fn expected_round_trip(&self) -> Duration {
        (self.round_trip + self.time_of(2)).max(ROUND_TRIP_MIN)
    }
    /// How long `count` full packets take on the link.
    pub(crate) fn time_of(&self, count: u64) -> Duration {
        let bits = count * (SEGMENT + 100) * 8;
        Duration::from_secs_f64(bits as f64 / self.capacity as f64)
    }
}

/// What shows that something has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// A line with this in it, on standard output or standard error.
    Line(&'static str),
    /// It has ended, with exit code 0.
    Ending,
}

/// A program that is to be started on a host.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) command: Command,
    /// Shows that it listens.
    pub(crate) ready: Sign,
    /// Shows that it has the file.
    pub(crate) done: Sign,
    /// Where the file is then.
    pub(crate) file: PathBuf,
}

impl Launch {
    /// `fanfare recv --json` into `directory`.
    pub(crate) fn of_fanfare(command: Command, task: &Task, directory: &Path) -> Self {
        let file = directory.join(task.source.file_name().unwrap_or_default());
        let ready = Sign::Line("\"event\":\"start\"");
        Self { command, ready, done: Sign::Line("\"event\":\"file\""), file }
    }

    /// One of the receivers of our own (under peers/): `command` is told the file it writes in
    /// `directory`, and says by events when it listens and when it has the file.
    pub(crate) fn of_ours(mut command: Command, directory: &Path) -> Self {
        let file = directory.join("received");
        command.arg(&file);
        let ready = Sign::Line("\"event\":\"listening\"");
        Self { command, ready, done: Sign::Line("\"event\":\"file\""), file }
    }
}

/// A system that can be measured.
pub(crate) trait Peer: fmt::Debug + Send + Sync {
    /// Its version, as its package or its source has it.
    fn version(&self) -> &str;
    /// Receives on `host`, the `number`th receiver from 0, into `directory`.
    fn receive(&self, host: &Host, number: usize, task: &Task, directory: &Path) -> Launch;
    /// Sends the file of the task from `host`.
    fn send(&self, host: &Host, task: &Task) -> Command;
    /// Whether receivers have to start one after another: members that come at the same time would
    /// make groups of their own.
    fn starts_in_turn(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_leaves_room_for_the_headers_that_a_limiter_does_not_count() {
        let task = Task {
            source: PathBuf::new(),
            receivers: vec![Ipv4Addr::LOCALHOST],
            capacity: 1_460_000,
            round_trip: Duration::ZERO,
            limit: Duration::ZERO,
            parity: None,
        };
        assert_eq!(task.rate_of(1432, 28), 1_432_000);
        assert_eq!(task.rate_of(1460, 0), task.capacity);
        assert!(task.expected_round_trip() < Duration::from_millis(200));
    }
}
