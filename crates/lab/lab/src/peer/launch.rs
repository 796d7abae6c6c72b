//! A system that can be measured: how its programs are started, and what they show.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::programs::program::Sign;

use super::task::Task;
use crate::host::Host;

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
