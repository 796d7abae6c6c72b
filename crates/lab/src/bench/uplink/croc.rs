//! croc: a relay at the sender, a sender for each receiver, and the receivers, which call them.

use std::{path::Path, process::Command, thread, time::Duration};

use super::job::{Job, start};
use crate::{error::LabError, process::Process};

const PORTS: &str = "9009,9010,9011,9012,9013";
const RELAY: u16 = 9009;
/// A relay does not say when it listens.
const RELAY_STARTS: Duration = Duration::from_secs(1);
/// Nor a sender when it waits; a receiver that comes earlier gives up.
const AHEAD: Duration = Duration::from_secs(3);

/// The relay, and senders that wait for whom they are for.
pub(super) fn senders(job: &Job<'_>) -> Result<Vec<Process>, LabError> {
    let sender = job.star.sender();
    let address = sender.address();
    let mut relay = sender.command("croc");
    relay.args(["relay", "--host", &address.to_string(), "--ports", PORTS]);
    let mut all = vec![start(relay, "croc")?];
    thread::sleep(RELAY_STARTS);
    let senders = job.each(|_, inbox| {
        let mut command = croc(sender.command("croc"), job, inbox);
        command.args(["send", "--no-local", "--code", &code(inbox)]).arg(job.file);
        start(command, "croc")
    })?;
    all.extend(senders);
    thread::sleep(AHEAD);
    Ok(all)
}

pub(super) fn receivers(job: &Job<'_>) -> Result<Vec<Process>, LabError> {
    job.each(|host, inbox| start(croc(host.command("croc"), job, inbox), "croc"))
}

/// What both ends have. The code is in the environment, where other users of a machine do not see it; croc
/// takes it from nowhere else.
fn croc(mut command: Command, job: &Job<'_>, inbox: &Path) -> Command {
    let relay = format!("{}:{RELAY}", job.star.sender().address());
    command.current_dir(inbox).env("HOME", inbox).env("CROC_SECRET", code(inbox));
    command.args(["--yes", "--overwrite", "--ignore-stdin", "--relay", &relay]);
    command
}

fn code(inbox: &Path) -> String {
    let number = inbox.file_name().unwrap_or_default().to_string_lossy();
    format!("{number:0>4}-fan-fare")
}
