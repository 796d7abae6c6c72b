//! What the programs of other systems are called with.

use super::{Cell, MessageBench, MessageSystem};
use crate::{
    bench::Star,
    error::LabError,
    host::{Host, INTERFACE},
    peer::{Tools, message_programs},
};
use std::{fs, path::Path, process::Command};

const ZEROMQ_PORT: u16 = 5599;
const NORM_GROUP: &str = "239.255.77.8:17500";
/// Names our libnorm.so.
const LIBRARY: &str = "FANFARE_LIBNORM";

/// A program that was found or made.
#[derive(Debug)]
pub(super) struct Others {
    zeromq: Option<std::path::PathBuf>,
    jgroups: Option<String>,
}

impl Others {
    /// Makes what these systems need; says of each that cannot be had why.
    pub(super) fn make(bench: &MessageBench) -> (Self, Vec<(MessageSystem, String)>) {
        let tools = Tools::of(&bench.fanfare);
        let wanted = |system: MessageSystem| bench.systems.contains(&system);
        let zeromq =
            [MessageSystem::ZeromqTcp, MessageSystem::ZeromqNorm, MessageSystem::ZeromqFanfare];
        let (mut missing, mut made) = (Vec::new(), Self { zeromq: None, jgroups: None });
        if zeromq.into_iter().any(wanted) {
            match message_programs::zeromq(&tools) {
                Ok(program) => made.zeromq = Some(program),
                Err(error) => missing.extend(
                    zeromq
                        .into_iter()
                        .filter(|one| wanted(*one))
                        .map(|one| (one, error.to_string())),
                ),
            }
        }
        let ours = MessageSystem::ZeromqFanfare;
        if wanted(ours) && made.zeromq.is_some() && own_library().is_none() {
            let why =
                format!("there is no libnorm.so of ours: build fanfare-norm, or set {LIBRARY}");
            missing.push((ours, why));
        }
        if wanted(MessageSystem::Jgroups) {
            let made_of =
                |result: Result<String, LabError>| result.map_err(|error| error.to_string());
            match made_of(message_programs::jgroups(&tools)) {
                Ok(path) => made.jgroups = Some(path),
                Err(why) => missing.push((MessageSystem::Jgroups, why)),
            }
        }
        (made, missing)
    }

    /// One end; `None` for a system that is none of these.
    pub(super) fn command(
        &self,
        (cell, size): (Cell, usize),
        end: &str,
        host: (&Host, usize),
        star: &Star,
        scratch: &Path,
    ) -> Option<Command> {
        let numbers = [cell.messages, size as u64, cell.paced].map(|number| number.to_string());
        let (host, node) = host;
        if cell.system == MessageSystem::Jgroups {
            let mut command = host.command("java");
            command.args(["-Xmx512m", "-Djava.net.preferIPv4Stack=true", "-cp"]);
            command.arg(self.jgroups.as_ref()?).arg("JGroupsMessages").arg(end);
            let members = star.receivers().len() + 1;
            command.arg(host.address().to_string()).arg(members.to_string()).args(numbers);
            return Some(command);
        }
        let endpoint = match cell.system {
            MessageSystem::ZeromqTcp => {
                format!("tcp://{}:{ZEROMQ_PORT}", star.sender().address())
            }
            MessageSystem::ZeromqNorm | MessageSystem::ZeromqFanfare => {
                format!("norm://{node},{INTERFACE};{NORM_GROUP}")
            }
            _ => return None,
        };
        let mut command = host.command(self.zeromq.as_ref()?);
        command.arg(end).arg(endpoint).args(numbers);
        if cell.system == MessageSystem::ZeromqFanfare {
            command.env("LD_LIBRARY_PATH", place_library(scratch)?);
        }
        Some(command)
    }
}

fn own_library() -> Option<std::path::PathBuf> {
    if let Some(named) = std::env::var_os(LIBRARY) {
        return Some(named.into());
    }
    let beside = std::env::current_exe().ok()?.with_file_name("libnorm.so");
    beside.exists().then_some(beside)
}

/// A folder with our library under the name that the loader looks for.
fn place_library(scratch: &Path) -> Option<std::path::PathBuf> {
    let folder = scratch.join("norm");
    fs::create_dir_all(&folder).ok()?;
    let link = folder.join("libnorm.so.1");
    if !link.exists() {
        std::os::unix::fs::symlink(own_library()?, &link).ok()?;
    }
    Some(folder)
}
