//! A program on a machine of an island, and the lines that it says.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::Stdio,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::Value;

use crate::{
    error::{LabError, Refusal},
    process::Process,
    stop::Stop,
    system::namespace::Namespace,
};

/// So often it is looked whether the user stops it.
const LOOK: Duration = Duration::from_millis(200);

/// It runs; killed when dropped.
pub(super) struct Program {
    process: Process,
    lines: Receiver<Value>,
}

impl Program {
    /// Starts it with these words and `--json`.
    pub(super) fn start(place: &Namespace, program: &Path, words: &str) -> Result<Self, LabError> {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut command = place.command(program);
        command.args(words.split_whitespace()).arg("--json");
        let started = Process::start(command, Stdio::piped(), Stdio::null());
        let mut process = started.map_err(|error| LabError::system(name, &error))?;
        let (say, lines) = mpsc::channel();
        if let (Some(out), _) = process.outputs() {
            thread::spawn(move || {
                let lines = BufReader::new(out).lines().map_while(Result::ok);
                let values = lines.filter_map(|line| serde_json::from_str(&line).ok());
                values.for_each(|value: Value| drop(say.send(value)));
            });
        }
        Ok(Self { process, lines })
    }

    /// Reads on until a line that `is_it`; `None` when it has ended before, or `until` is over.
    pub(super) fn wait(
        &self,
        until: Instant,
        stop: &Stop,
        mut is_it: impl FnMut(&Value) -> bool,
    ) -> Option<Value> {
        while !stop.is_set() && Instant::now() < until {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) if is_it(&line) => return Some(line),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }

    /// It is ready when it has said this.
    ///
    /// # Errors
    /// It has not.
    pub(super) fn ready(self, event: &str, until: Instant, stop: &Stop) -> Result<Self, LabError> {
        let said = self.wait(until, stop, |line| line["event"] == event);
        let text = format!("a program (no {event}): it did not start. Run it by hand");
        said.map(|_| self).ok_or_else(|| LabError::new(Refusal::System, "lab.program", text))
    }

    /// As SIGKILL, and waits until it is gone.
    pub(super) fn kill(mut self) {
        self.process.signal(Signal::KILL);
        while let Some(end) = self.process.end() {
            crate::wait::for_any(&[end], LOOK);
            if !matches!(self.process.try_end(), Ok(None)) {
                return;
            }
        }
    }
}
