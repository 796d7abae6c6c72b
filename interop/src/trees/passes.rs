//! One directory, sent twice to the same receivers, and compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::RECEIVERS;
use crate::fanfare::Fanfare;
use crate::lab::{Family, Host, Lab};
use crate::process::{Process, wait_for};
use crate::tool::{self, ToolError};

const GROUP: &str = "239.255.42.97";
const PORT: u16 = 6197;
/// Until receivers listen.
const SETTLE: Duration = Duration::from_secs(60);
/// Nothing that ends takes longer.
const LIMIT: Duration = Duration::from_secs(3600);
/// After the sender, receivers end within this: one that still waits has got nothing.
const GRACE: Duration = Duration::from_secs(90);
/// How often memory is looked at.
const POLL: Duration = Duration::from_millis(20);
/// Of what rsync prints, so many lines are told.
const TOLD: usize = 5;
/// The owners of the sender by number, and nothing of pipes, sockets and devices: they do not travel.
const COMPARED: [&str; 8] = [
    "-aHAX",
    "--numeric-ids",
    "--checksum",
    "--dry-run",
    "--itemize-changes",
    "--delete",
    "--no-specials",
    "--no-devices",
];
/// What rsync says of those.
const LEFT_OUT: &str = "skipping non-regular file";

/// How one sending went.
#[derive(Clone, Debug)]
pub struct Sending {
    /// From the sender's start to its end.
    pub seconds: f64,
    /// The payload of UDP that left the sender's host.
    pub wire: u64,
    /// The most memory that the sender had, and the receivers: resident bytes.
    pub memory: (u64, u64),
    /// Exit codes: the sender's, then the receivers'.
    pub exits: Vec<Option<i32>>,
    /// What the sender said of an error.
    pub said: String,
}

/// Both of them, and what rsync found left to do at each receiver.
#[derive(Clone, Debug)]
pub struct Passes {
    /// The first and the second.
    pub sendings: Vec<Sending>,
    /// Lines that rsync printed, of all receivers.
    pub left: Vec<String>,
}

impl Passes {
    /// What is wrong, if anything.
    pub fn failure(&self) -> Option<String> {
        if let Some(wrong) = self.sendings.iter().find(|s| s.exits.iter().any(|e| *e != Some(0))) {
            return Some(format!("exits {:?}: {}", wrong.exits, wrong.said));
        }
        let first: Vec<&str> = self.left.iter().map(String::as_str).take(TOLD).collect();
        (!first.is_empty())
            .then(|| format!("rsync prints {} lines: {}", self.left.len(), first.join(" | ")))
    }
}

/// Sends `path` twice; the copies are in `scratch`.
pub(super) fn run(
    path: &Path,
    fanfare: &Fanfare,
    scratch: &Path,
    options: &[String],
) -> Result<Passes, ToolError> {
    let lab = Lab::new(RECEIVERS + 1, Family::V4)?;
    let targets: Vec<PathBuf> = (0..RECEIVERS).map(|n| scratch.join(format!("in-{n}"))).collect();
    for target in &targets {
        fs::create_dir_all(target).map_err(tool::at(target.display()))?;
    }
    let plan = Plan { path, fanfare, hosts: lab.hosts(), targets: &targets, options };
    let sendings = vec![plan.send()?, plan.send()?];
    let mut left = Vec::new();
    for target in &targets {
        left.extend(compare(path, target)?);
    }
    Ok(Passes { sendings, left })
}

struct Plan<'a> {
    path: &'a Path,
    fanfare: &'a Fanfare,
    hosts: &'a [Host],
    targets: &'a [PathBuf],
    options: &'a [String],
}

impl Plan<'_> {
    fn send(&self) -> Result<Sending, ToolError> {
        let mut receivers = Vec::new();
        for (number, (host, target)) in self.hosts[1..].iter().zip(self.targets).enumerate() {
            let mut command = self.fanfare.command(host, "recv", GROUP, PORT);
            let name = format!("r{number}");
            command.arg(target).args(["--once", "--archive", "--name", &name]);
            receivers.push(Process::start(name, command)?);
        }
        let listen = || receivers.iter().all(|receiver| receiver.has_event("start"));
        wait_for(Instant::now() + SETTLE, listen)?;
        let host = &self.hosts[0];
        let before = host.sent_bytes()?;
        let mut command = self.fanfare.command(host, "send", GROUP, PORT);
        command.arg(self.path).args(["--archive", "--expect", &RECEIVERS.to_string()]);
        command.args(self.options);
        let begun = Instant::now();
        let mut sender = Process::start("sender", command)?;
        let mut memory = (0, 0);
        let mut ended = None;
        while begun.elapsed() < LIMIT {
            memory.0 = memory.0.max(sender.peak_memory().unwrap_or(0));
            let of_receivers = receivers.iter().filter_map(Process::peak_memory);
            memory.1 = of_receivers.fold(memory.1, u64::max);
            if ended.is_none() {
                ended = sender.try_exit()?.map(|_| begun.elapsed());
            }
            let over = receivers.iter_mut().map(Process::try_exit);
            let over = over.collect::<Result<Option<Vec<i32>>, _>>()?.is_some();
            // Receivers of a sender that never began would wait for another one.
            let late = ended.is_some_and(|ended| begun.elapsed() > ended + GRACE);
            if (over && ended.is_some()) || late {
                break;
            }
            if tool::interrupted() {
                return Err(ToolError::Interrupted);
            }
            std::thread::sleep(POLL);
        }
        let mut exits = vec![sender.wait_until(Instant::now())?];
        for receiver in &mut receivers {
            exits.push(receiver.wait_until(Instant::now())?);
        }
        Ok(Sending {
            seconds: ended.unwrap_or_else(|| begun.elapsed()).as_secs_f64(),
            wire: host.sent_bytes()? - before,
            memory,
            exits,
            said: error_of(&sender.events()),
        })
    }
}

/// What the last line says is wrong.
fn error_of(events: &[Value]) -> String {
    let last = events.last().unwrap_or(&Value::Null);
    match last["error"].as_str() {
        Some(error) => error.to_owned(),
        None => last.to_string(),
    }
}

/// What rsync would still have to do.
fn compare(path: &Path, target: &Path) -> Result<Vec<String>, ToolError> {
    let mut command = Command::new("rsync");
    let done = command.args(COMPARED).arg(path).arg(target).output();
    let done = done.map_err(|error| tool::not_started("rsync", error))?;
    let said = [done.stdout, done.stderr].concat();
    let lines = String::from_utf8_lossy(&said);
    let told = lines.lines().filter(|line| !line.is_empty() && !line.starts_with(LEFT_OUT));
    Ok(told.map(str::to_owned).collect())
}
