//! TCP to each receiver separately, all at the same time: what people do without multicast.

use super::{Launch, Peer, Task, Tools, build};
use crate::{error::LabError, host::Host};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const SOURCE: &str = include_str!("../../peers/tcp_peer.c");

#[derive(Debug)]
struct Tcp {
    program: PathBuf,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn Peer>, LabError> {
    let program = tools.compiled(&build::Source {
        name: "tcp_peer.c",
        text: SOURCE,
        compiler: "cc",
        compiler_package: "gcc",
        flags: "",
        header: "",
        package: "",
    })?;
    // It is the kernel's: version, and what controls its congestion.
    let read = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let control = read("/proc/sys/net/ipv4/tcp_congestion_control");
    let version = format!("{} {control}", read("/proc/sys/kernel/osrelease"));
    let version = build::with_settings(&version, &[SOURCE]);
    Ok(Box::new(Tcp { program, version }))
}

impl Peer for Tcp {
    fn version(&self) -> &str {
        &self.version
    }
    fn receive(&self, host: &Host, _: usize, _: &Task, directory: &Path) -> Launch {
        let mut command = host.command(&self.program);
        command.arg("recv");
        Launch::of_ours(command, directory)
    }
    fn send(&self, host: &Host, task: &Task) -> Command {
        let mut command = host.command(&self.program);
        command.arg("send").arg(&task.source);
        command.args(task.receivers.iter().map(ToString::to_string));
        command
    }
}
