//! OpenPGM: a program of ours over libpgm, PGM in UDP, NACK only.

use super::{Launch, Peer, Task, Tools, workshop};
use crate::{
    error::LabError,
    host::{Host, INTERFACE},
};
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const SOURCE: &str = include_str!("../../peers/pgm_peer.c");
/// Debian's place of the headers, and the library's name: what pkg-config openpgm-5.3 says.
const FLAGS: &str = "-I/usr/include/pgm-5.3 -lpgm -lpthread -lm";
/// Waits for a confirmation and for repair data in packets' times: with half as many, requests are
/// repeated while their repairs wait in the link's queue; with a full queue's, lost repairs take long.
const REPEAT_PACKETS: u64 = 8;
const DATA_PACKETS: u64 = 16;
/// Shortest waits for repair data and for a confirmation.
const DATA_MIN: Duration = Duration::from_millis(400);
const REPEAT_MIN: Duration = Duration::from_millis(200);
const BACKOFF_MIN: Duration = Duration::from_millis(50);

#[derive(Debug)]
struct OpenPgm {
    program: PathBuf,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn Peer>, LabError> {
    let program = tools.compiled(&workshop::Source {
        name: "pgm_peer.c",
        text: SOURCE,
        compiler: "cc",
        compiler_package: "gcc",
        flags: FLAGS,
        header: "pgm/pgm.h",
        package: "libpgm-dev",
    })?;
    let version = workshop::package_version("libpgm-5.3-0");
    let version = workshop::with_settings(&version, &[SOURCE, include_str!("openpgm.rs")]);
    Ok(Box::new(OpenPgm { program, version }))
}

impl OpenPgm {
    fn command(&self, host: &Host, verb: &str, task: &Task) -> Command {
        let millis = |time: Duration| time.as_millis().to_string();
        let wait = |least: Duration, packets| least.max(task.time_of(packets) + task.round_trip);
        let backoff = BACKOFF_MIN.max(task.time_of(1));
        let mut command = host.command(&self.program);
        command.arg(verb).args(["--device", INTERFACE, "--payload", "1400"]);
        command.args(["--interface", &host.address().to_string()]);
        command.args(["--rate", &task.capacity.to_string()]);
        command.args(["--nak-backoff", &millis(backoff)]);
        command.args(["--nak-repeat", &millis(wait(REPEAT_MIN, REPEAT_PACKETS))]);
        command.args(["--nak-data", &millis(wait(DATA_MIN, DATA_PACKETS))]);
        command.args(["--timeout", &task.limit.as_secs().to_string()]);
        command
    }
}

impl Peer for OpenPgm {
    fn version(&self) -> &str {
        &self.version
    }
    fn receive(&self, host: &Host, _: usize, task: &Task, directory: &Path) -> Launch {
        Launch::of_ours(self.command(host, "recv", task), directory)
    }
    fn send(&self, host: &Host, task: &Task) -> Command {
        let mut command = self.command(host, "send", task);
        command.arg(&task.source);
        command
    }
}
