//! Fanfare itself, as a user runs it: `fanfare recv --once`, `fanfare send --expect N --cc fixed
//! --rate R`.

use super::{HEADERS, Launch, Parity, Peer, SEGMENT, Task, Tools, build};
use crate::{
    error::{LabError, Refusal},
    host::{Host, INTERFACE},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Where all of these programs meet.
pub(crate) const GROUP: &str = "239.255.42.1:6003";
/// NORM_DATA before its segment (RFC 5740 4.2.1); few carry EXT_FTI, 12 bytes more. `--rate` counts
/// them; it does not count IP and UDP.
const DATA_HEADER: u64 = 20;

#[derive(Debug)]
struct Fanfare {
    program: PathBuf,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn Peer>, LabError> {
    let (program, version) = (tools.fanfare.clone(), version(tools)?);
    Ok(Box::new(Fanfare { program, version }))
}

/// Two builds of one version are not the same.
pub(crate) fn version(tools: &Tools) -> Result<String, LabError> {
    let program = &tools.fanfare;
    let bytes = fs::read(program).map_err(|error| {
        let text = format!("fanfare ({}): cannot be read ({error}). Build it", program.display());
        LabError::new(Refusal::Missing, "lab.peer", text)
    })?;
    Ok(format!("{}+{}", env!("CARGO_PKG_VERSION"), build::short_hash(&bytes)))
}

/// What is told with `--rate`, so that full packets take the whole link.
pub(crate) fn rate(task: &Task) -> u64 {
    task.rate_of(SEGMENT + DATA_HEADER, HEADERS)
}

/// What is told of parity.
pub(crate) fn parity(task: &Task) -> Vec<String> {
    let options = |Parity { block, parity }| {
        vec![format!("--fec={block}:{parity}"), format!("--parity={parity}")]
    };
    task.parity.map_or_else(Vec::new, options)
}

impl Fanfare {
    fn command(&self, host: &Host, verb: &str) -> Command {
        let mut command = host.command(&self.program);
        command.arg(verb).args(["--interface", INTERFACE, "--group", GROUP, "--json"]);
        command
    }
}

impl Peer for Fanfare {
    fn version(&self) -> &str {
        &self.version
    }
    fn receive(&self, host: &Host, _: usize, task: &Task, directory: &Path) -> Launch {
        let mut command = self.command(host, "recv");
        command.arg("--once").arg(directory);
        Launch::of_fanfare(command, task, directory)
    }
    fn send(&self, host: &Host, task: &Task) -> Command {
        let mut command = self.command(host, "send");
        command.args(["--cc", "fixed", "--rate", &rate(task).to_string()]).args(parity(task));
        command.args(["--expect", &task.receivers.len().to_string()]).arg(&task.source);
        command
    }
}
