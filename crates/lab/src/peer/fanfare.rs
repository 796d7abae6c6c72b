//! Fanfare itself, as a user has it: `fanfare recv --once`, `fanfare send --expect N --rate R`.

use super::{HEADERS, Launch, Parity, Peer, SEGMENT, Sign, Task, Tools, workshop};
use crate::{
    error::{LabError, Refusal},
    host::{Host, INTERFACE},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const GROUP: &str = "239.255.42.1:6003";
/// NORM_DATA before its segment (RFC 5740 4.2.1); few carry EXT_FTI, 12 bytes more. `--rate` counts
/// them; it does not count IP and UDP.
const DATA_HEADER: u64 = 20;

#[derive(Debug)]
struct Fanfare {
    program: PathBuf,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn Peer>, LabError> {
    let program = tools.fanfare.clone();
    let bytes = fs::read(&program).map_err(|error| {
        let text = format!("fanfare ({}): cannot be read ({error}). Build it", program.display());
        LabError::new(Refusal::Missing, "lab.peer", text)
    })?;
    // Two builds of one version are not the same.
    let version = format!("{}+{}", env!("CARGO_PKG_VERSION"), workshop::short_hash(&bytes));
    Ok(Box::new(Fanfare { program, version }))
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
        let ready = Sign::Line("\"event\":\"start\"");
        let file = directory.join(task.source.file_name().unwrap_or_default());
        Launch { command, ready, done: Sign::Line("\"event\":\"file\""), file }
    }
    fn send(&self, host: &Host, task: &Task) -> Command {
        let mut command = self.command(host, "send");
        let rate = task.rate_of(SEGMENT + DATA_HEADER, HEADERS);
        command.args(["--rate", &rate.to_string()]);
        if let Some(Parity { block, parity }) = task.parity {
            command.args([format!("--fec={block}:{parity}"), format!("--parity={parity}")]);
        }
        command.args(["--expect", &task.receivers.len().to_string()]).arg(&task.source);
        command
    }
}
