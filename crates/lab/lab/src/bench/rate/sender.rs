//! Who sends in a cell, and with which command.

use super::{Condition, RateCell, short::short};
use crate::{
    host::{Host, INTERFACE},
    peer::{FANFARE_GROUP, Launch, Peer, Task},
};
use serde::Serialize;
use std::{fmt, path::Path, process::Command};

/// Who sends, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSender {
    /// `fanfare send` without `--rate`.
    Auto,
    /// `fanfare send --cc fixed --rate` with this, bit/s.
    Told(u64),
    /// A TCP connection to each receiver, all at once.
    Tcp,
}

impl RateSender {
    /// The rate that Fanfare is told in this cell, if one is.
    pub(super) fn told(self, cell: &RateCell) -> Option<u64> {
        match (self, cell.condition) {
            (Self::Told(rate), _) | (Self::Auto, Condition::Ceiling(rate)) => Some(rate),
            _ => None,
        }
    }
}

impl fmt::Display for RateSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Told(rate) => write!(f, "told {}", short(*rate)),
            Self::Tcp => f.write_str("tcp"),
        }
    }
}

/// `fanfare recv` as others measure it, and `fanfare send` with a rate only where one is told.
#[derive(Debug)]
pub(in crate::bench) struct Ours<'a> {
    pub(in crate::bench) fanfare: &'a dyn Peer,
    pub(in crate::bench) program: &'a Path,
    pub(in crate::bench) told: Option<u64>,
    /// What is told is a ceiling, and the rate below it finds itself.
    pub(in crate::bench) ceiling: bool,
}

impl Peer for Ours<'_> {
    fn version(&self) -> &str {
        self.fanfare.version()
    }
    fn receive(&self, host: &Host, number: usize, task: &Task, directory: &Path) -> Launch {
        self.fanfare.receive(host, number, task, directory)
    }
    fn send(&self, host: &Host, task: &Task) -> Command {
        let mut command = host.command(self.program);
        command.args(["send", "--json", "--interface", INTERFACE, "--group", FANFARE_GROUP]);
        command.args(["--expect", &task.receivers.len().to_string()]).arg(&task.source);
        if let Some(rate) = self.told {
            command.args(["--rate", &rate.to_string()]);
            if !self.ceiling {
                command.args(["--cc", "fixed"]);
            }
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_told_in_the_place_of_no_rate() {
        let told = |sender: RateSender, name: &str| {
            sender.told(&RateCell::chosen(&[name.to_owned()]).unwrap()[0])
        };
        assert_eq!(told(RateSender::Auto, "free-3"), None);
        assert_eq!(told(RateSender::Auto, "ceiling-free-3"), Some(10_000_000_000));
        assert_eq!(told(RateSender::Told(7), "ceiling-free-3"), Some(7));
        assert_eq!(told(RateSender::Tcp, "ceiling-free-3"), None);
    }
}
