//! What `fanfare bench` prints: lines of JSON, and figures for people.

use std::path::{Path, PathBuf};

use fanfare_command::{Exit, Output};
use serde::Serialize;

/// Every Linux has it in memory.
const MEMORY: &str = "/dev/shm";
/// Where files are while they are sent, unless the user says so: in memory, where that can be.
pub(super) fn directory(given: Option<&PathBuf>) -> PathBuf {
    let memory = Path::new(MEMORY).is_dir().then(|| PathBuf::from(MEMORY));
    given.cloned().or(memory).unwrap_or_else(std::env::temp_dir)
}

/// A line of JSON.
#[derive(Debug, Serialize)]
struct Event<'a, T> {
    event: &'static str,
    #[serde(flatten)]
    what: &'a T,
}

pub(super) fn print<T: Serialize>(output: &Output, event: &'static str, what: &T) {
    output.json(&Event { event, what });
}

/// The whole run, in the last line of JSON.
#[derive(Debug, Serialize)]
pub(super) struct Conclusion {
    pub(super) ok: bool,
    pub(super) exit: u8,
}

/// The last line, and the exit code.
pub(super) fn end(ok: bool, output: &Output) -> Exit {
    let exit = if ok { Exit::Done } else { Exit::Partial };
    print(output, "result", &Conclusion { ok, exit: exit as u8 });
    exit
}

/// In millions.
pub(super) fn mega(value: f64) -> String {
    format!("{:.0}", value / 1e6)
}
