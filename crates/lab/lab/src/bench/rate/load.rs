//! A load that keeps the processors busy.

use crate::{error::LabError, process::Process};
use std::process::{Command, Stdio};

/// Processes for each processor.
const EACH: usize = 2;
/// Counts without end, and never waits.
const SPIN: &str = "while :; do :; done";

/// Processes of ordinary priority that keep all processors busy; gone when dropped.
#[derive(Debug)]
pub(in crate::bench) struct Load {
    _processes: Vec<Process>,
}

impl Load {
    pub(in crate::bench) fn start() -> Result<Self, LabError> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = |_| {
            let mut command = Command::new("sh");
            command.args(["-c", SPIN]);
            Process::start(command, Stdio::null(), Stdio::null())
        };
        let processes = (0..EACH * processors).map(spin).collect::<Result<_, _>>();
        let processes = processes.map_err(|error| LabError::system("program (sh)", &error))?;
        Ok(Self { _processes: processes })
    }
}
