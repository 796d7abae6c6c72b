//! croc: a relay at the sender, a sender for each receiver, and the receivers, which call them.

use std::{
    io::{self, BufRead as _, BufReader},
    path::Path,
    process::Command,
    thread,
};

use super::job::{Job, start};
use crate::{error::LabError, process::Process};

const PORTS: &str = "9009,9010,9011,9012,9013";
const RELAY: u16 = 9009;
/// What a relay says of each port when it listens there, and a sender when it waits at the relay. A receiver
/// that comes earlier gives up.
const LISTENS: &str = "starting TCP server";
const WAITS: &str = "connection established";

/// The relay, and senders that wait for whom they are for.
pub(super) fn senders(job: &Job<'_>) -> Result<Vec<Process>, LabError> {
    let sender = job.star.sender();
    let address = sender.address();
    let mut relay = sender.command("croc");
    relay.args(["relay", "--host", &address.to_string(), "--ports", PORTS]);
    let mut relay = start(relay, "croc")?;
    await_said(&mut relay, LISTENS, PORTS.split(',').count());
    let mut all = vec![relay];
    let mut senders = job.each(|_, inbox| {
        let mut command = croc(sender.command("croc"), job, inbox);
        command.args(["--debug", "send", "--no-local", "--code", &code(inbox)]).arg(job.file);
        start(command, "croc")
    })?;
    senders.iter_mut().for_each(|sender| await_said(sender, WAITS, 1));
    all.extend(senders);
    Ok(all)
}

/// Until a program has said this so often, or has ended.
fn await_said(process: &mut Process, text: &str, mut times: usize) {
    let (_, Some(errors)) = process.outputs() else { return };
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    while times > 0 && errors.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        times -= usize::from(String::from_utf8_lossy(&line).contains(text));
        line.clear();
    }
    // What follows is read, so that it never waits for us.
    thread::spawn(move || io::copy(&mut errors, &mut io::sink()));
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
