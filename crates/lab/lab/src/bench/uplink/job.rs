//! One file from one host to many, whoever brings it; and the programs that do.

use std::{
    fs,
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    bench::star::Star,
    error::LabError,
    host::Host,
    process::{Ending, Process},
    stop::Stop,
    system::tool,
};

/// For starting programs, beside what the network takes.
pub(super) const BESIDE: Duration = Duration::from_secs(30);
/// From one look at real programs to the next. Nobody tells when one of several has ended.
const LOOK: Duration = Duration::from_millis(10);
/// Why there is no figure.
pub(super) const TOO_LONG: &str = "it took too long, or was stopped";

/// The same job, whoever does it.
pub(super) struct Job<'a> {
    pub(super) star: &'a Star,
    pub(super) file: &'a Path,
    /// Receiver N's folder in it is called N.
    pub(super) inbox: &'a Path,
}

impl Job<'_> {
    /// One program for each receiver, with its folder, which is there.
    pub(super) fn each(
        &self,
        mut start: impl FnMut(&Host, &Path) -> Result<Process, LabError>,
    ) -> Result<Vec<Process>, LabError> {
        let hosts = self.star.receivers().iter().enumerate();
        hosts
            .map(|(number, host)| {
                let inbox = self.inbox.join(number.to_string());
                let made = fs::create_dir_all(&inbox);
                made.map_err(|error| LabError::system("bench (a folder)", &error))?;
                start(host, &inbox)
            })
            .collect()
    }
}

pub(super) fn start(command: Command, name: &str) -> Result<Process, LabError> {
    start_to(command, name, Stdio::null())
}

pub(super) fn start_to(command: Command, name: &str, out: Stdio) -> Result<Process, LabError> {
    let started = Process::start(command, out, Stdio::piped());
    started.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => tool::missing(name, name),
        _ => LabError::system(name, &error),
    })
}

/// Looks at programs again and again until it is `done`. False when that took too long, or was stopped.
pub(super) fn until(
    limit: Instant,
    stop: &Stop,
    mut done: impl FnMut() -> Result<bool, LabError>,
) -> Result<bool, LabError> {
    while !done()? {
        if stop.is_set() || Instant::now() >= limit {
            return Ok(false);
        }
        thread::sleep(LOOK);
    }
    Ok(true)
}

/// Until all have ended; why one did not end well.
pub(super) fn wait(mut all: Vec<Process>, limit: Instant, stop: &Stop) -> Result<String, LabError> {
    let mut why = String::new();
    let ended = until(limit, stop, || {
        let mut running = Vec::new();
        for mut process in std::mem::take(&mut all) {
            match process.try_end().map_err(|error| LabError::system("bench", &error))? {
                None => running.push(process),
                Some(Ending::Code(0)) => {}
                Some(ending) => {
                    let mut said = String::new();
                    if let (_, Some(mut errors)) = process.outputs() {
                        let _ = errors.read_to_string(&mut said);
                    }
                    why = format!("{ending:?}: {}", said.trim());
                }
            }
        }
        all = running;
        Ok(all.is_empty())
    })?;
    Ok(if ended { why } else { TOO_LONG.to_owned() })
}
