//! OpenPGM: a program of ours over libpgm, PGM in UDP, NACK only.

use super::{Launch, Peer, Task, Tools, build};
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
/// A wait of a receiver: so many packets' times, and `slack` times as many where that is within the
/// two bounds.
struct Wait {
    packets: u64,
    slack: u32,
    least: Duration,
    most: Duration,
}

/// For a confirmation, and for repair data. With half as many packets' times, requests are repeated
/// while their repairs wait in the link's queue: at 1024 kbit/s and 20 % loss 1.4 times the bound
/// became 1.9 to 2.7. With a full queue's, lost repairs take long, as they do at 10 Mbit/s with what
/// suits 1 Mbit/s.
const REPEAT: Wait = Wait::new(8, 2, 50, 200);
const DATA: Wait = Wait::new(16, 2, 100, 400);
/// Before a request.
const BACKOFF: Wait = Wait::new(1, 4, 10, 50);

impl Wait {
    const fn new(packets: u64, slack: u32, least_ms: u64, most_ms: u64) -> Self {
        let (least, most) = (Duration::from_millis(least_ms), Duration::from_millis(most_ms));
        Self { packets, slack, least, most }
    }
    fn of(&self, task: &Task) -> Duration {
        let time = task.time_of(self.packets);
        time.max((time * self.slack).clamp(self.least, self.most))
    }
}

#[derive(Debug)]
struct OpenPgm {
    program: PathBuf,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn Peer>, LabError> {
    let program = tools.compiled(&build::Source {
        name: "pgm_peer.c",
        text: SOURCE,
        compiler: "cc",
        compiler_package: "gcc",
        flags: FLAGS,
        header: "pgm/pgm.h",
        package: "libpgm-dev",
    })?;
    let version = build::package_version("libpgm-5.3-0");
    let version = build::with_settings(&version, &[SOURCE, include_str!("openpgm.rs")]);
    Ok(Box::new(OpenPgm { program, version }))
}

impl OpenPgm {
    fn command(&self, host: &Host, verb: &str, task: &Task) -> Command {
        let millis = |time: Duration| time.as_millis().to_string();
        let answered = |wait: Wait| wait.of(task) + task.round_trip;
        let mut command = host.command(&self.program);
        command.arg(verb).args(["--device", INTERFACE, "--payload", "1400"]);
        command.args(["--interface", &host.address().to_string()]);
        command.args(["--rate", &task.capacity.to_string()]);
        command.args(["--nak-backoff", &millis(BACKOFF.of(task))]);
        command.args(["--nak-repeat", &millis(answered(REPEAT))]);
        command.args(["--nak-data", &millis(answered(DATA))]);
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
