//! A torrent: aria2 at the sender and at each receiver. They find each other by multicast (local peer
//! discovery), and each goes on giving until all have the file.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Instant,
};

use super::job::{BESIDE, Job, TOO_LONG, start, until, wait};
use crate::{
    error::LabError,
    host::{Host, INTERFACE},
    process::Process,
    stop::Stop,
};

/// Kilobytes of a piece, as torrents of some hundred megabytes have them.
const PIECE: &str = "256";
/// What aria2 runs when it has everything, in the folder of the file.
const HOOK: &str = "#!/bin/sh\n: > \"$(dirname \"$3\")/done\"\n";

/// Makes the torrent. No program runs before the clock does.
pub(super) fn make(job: &Job<'_>, stop: &Stop) -> Result<Vec<Process>, LabError> {
    let mut command = job.star.sender().command("transmission-create");
    command.args(["-s", PIECE, "-o"]).arg(torrent(job)).arg(job.file);
    let made = start(command, "transmission-create")?;
    let until = Instant::now() + BESIDE;
    let why = wait(vec![made], until, stop)?;
    if !why.is_empty() {
        return Err(LabError::system("transmission-create", &std::io::Error::other(why)));
    }
    let failed = |error| LabError::system("aria2 (its hook)", &error);
    let mut options = fs::OpenOptions::new();
    let mut script = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o755)
        .open(hook(job))
        .map_err(failed)?;
    script.write_all(HOOK.as_bytes()).map_err(failed)?;
    Ok(Vec::new())
}

/// Runs all of it, until each receiver has the file; why not, if not.
pub(super) fn run(job: &Job<'_>, limit: Instant, stop: &Stop) -> Result<String, LabError> {
    let folder = job.file.parent().unwrap_or(Path::new("."));
    let _seeder = aria2(job, job.star.sender(), folder)?;
    let mut files = Vec::new();
    let _receivers = job.each(|host, inbox| {
        files.push(inbox.join("done"));
        aria2(job, host, inbox)
    })?;
    let done = until(limit, stop, || Ok(files.iter().all(|file| file.exists())))?;
    Ok(if done { String::new() } else { TOO_LONG.to_owned() })
}

fn aria2(job: &Job<'_>, host: &Host, folder: &Path) -> Result<Process, LabError> {
    let mut command = host.command("aria2c");
    command.args(["--enable-dht=false", "--enable-dht6=false", "--bt-enable-lpd=true"]);
    command.args([&format!("--bt-lpd-interface={INTERFACE}"), "--bt-max-peers=0"]);
    // The sender has it: it only looks. All give for ever, as fast as they can.
    command.args(["--check-integrity=true", "--seed-ratio=0.0", "--quiet=true"]);
    command.arg(format!("--on-bt-download-complete={}", hook(job).display()));
    command.arg("--dir").arg(folder).arg(torrent(job));
    start(command, "aria2c")
}

fn torrent(job: &Job<'_>) -> PathBuf {
    job.file.with_extension("torrent")
}

fn hook(job: &Job<'_>) -> PathBuf {
    job.file.with_extension("hook")
}
