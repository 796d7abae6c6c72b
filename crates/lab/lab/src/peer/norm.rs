//! NRL's NORM: the program of the interoperability runs, over libnorm.

use super::{HEADERS, Launch, Parity, Peer, SEGMENT, Sign, Task, Tools, build};
use crate::{
    error::LabError,
    host::{Host, INTERFACE},
};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

const SOURCE: &str = include_str!("../../peers/norm_peer.cpp");
const SEGMENT_SIZE: &str = "1400";
/// The paper's block.
const BLOCK: &str = "64";
/// Parity that can be asked for: as much as a block has. With less, a block that has lost more
/// falls back to explicit symbols; computing it costs nothing that would show at these rates.
const PARITY: &str = "64";
/// NORM_DATA before its segment as libnorm 1.5.9 sends it: 20 bytes and 12 of EXT_FTI. Its limiter
/// counts NORM messages, not IP and UDP.
const DATA_HEADER: u64 = 32;

#[derive(Debug)]
struct Norm {
    program: PathBuf,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn Peer>, LabError> {
    let program = tools.compiled(&build::Source {
        name: "norm_peer.cpp",
        text: SOURCE,
        compiler: "c++",
        compiler_package: "g++",
        flags: "-lnorm",
        header: "normApi.h",
        package: "libnorm-dev",
    })?;
    let version = build::package_version("libnorm1");
    let version = build::with_settings(&version, &[SOURCE, include_str!("norm.rs")]);
    Ok(Box::new(Norm { program, version }))
}

impl Norm {
    fn command(&self, host: &Host, verb: &str, id: usize, task: &Task) -> Command {
        let mut command = host.command(&self.program);
        command.arg(verb).args(["--interface", INTERFACE, "--node-id", &id.to_string()]);
        command.args(["--timeout", &task.limit.as_secs().to_string()]);
        command
    }
}

impl Peer for Norm {
    fn version(&self) -> &str {
        &self.version
    }
    fn receive(&self, host: &Host, number: usize, task: &Task, directory: &Path) -> Launch {
        let mut command = self.command(host, "recv", number + 2, task);
        let linger = task.limit.as_secs().to_string();
        command.args(["--count", "1", "--linger", &linger]).arg(directory);
        let file = directory.join(task.source.file_name().unwrap_or_default());
        let ready = Sign::Line("\"event\":\"ready\"");
        Launch { command, ready, done: Sign::Line("\"event\":\"completed\""), file }
    }
    fn send(&self, host: &Host, task: &Task) -> Command {
        let mut command = self.command(host, "send", 1, task);
        let rate = task.rate_of(SEGMENT + DATA_HEADER, HEADERS);
        command.args(["--rate", &rate.to_string(), "--segment", SEGMENT_SIZE]);
        match task.parity {
            None => command.args(["--ndata", BLOCK, "--nparity", PARITY, "--auto-parity", "0"]),
            Some(Parity { block, parity }) => {
                let (block, parity) = (block.to_string(), parity.to_string());
                command.args(["--ndata", &block, "--nparity", &parity, "--auto-parity", &parity])
            }
        };
        // Its own first guess of 250 ms falls slowly, and rules every back-off.
        let grtt = task.expected_round_trip().as_secs_f64();
        command.args(["--grtt", &format!("{grtt:.3}")]);
        // Without acknowledgements it would end after its flushes, whatever is missing.
        let ids: Vec<String> = (0..task.receivers.len()).map(|n| (n + 2).to_string()).collect();
        command.args(["--ack", &ids.join(",")]).arg(&task.source);
        command
    }
}
