//! The programs of a scenario: starts each at its time, and runs until all that matter have ended.

mod task;

use crate::{
    emulator::snapshot::Snapshot,
    error::{LabError, Refusal},
    host::Host,
    lab::Lab,
    process::Ending,
    stop::Stop,
    transfers, wait,
};
use fanfare_sim::{Program, Scenario};
use rustix::fd::{AsFd, BorrowedFd};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use task::{RunState, Task};

/// While only programs are waited for, which wake by their ends.
const LONG: Duration = Duration::from_secs(60);

/// What is to be run.
#[derive(Debug)]
pub struct Run<'a> {
    /// Where: a lab of this scenario.
    pub lab: &'a Lab,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Where each host gets a directory for what its programs print and write.
    pub out: &'a Path,
    /// The `fanfare` that becomes the scenario's `fanfare-*` flows.
    pub fanfare: &'a Path,
    /// Ends the run early when it is set.
    pub stop: &'a Stop,
}

/// What came of one program.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramReport {
    /// Where it ran.
    pub node: String,
    /// What it was.
    pub command: String,
    /// When it was started last, since the lab came up.
    pub started: Duration,
    /// How long it ran.
    pub ran: Duration,
    /// How it ended; `None` when it could not be started.
    pub ending: Option<Ending>,
    /// It was told to end, or its host crashed.
    pub was_ended: bool,
    /// It ended as the scenario expects.
    pub ok: bool,
    /// CPU time, seconds.
    pub cpu_seconds: f64,
    /// What it printed.
    pub stdout: PathBuf,
    /// What it printed as errors.
    pub stderr: PathBuf,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Conclusion {
    /// Each program.
    pub programs: Vec<ProgramReport>,
    /// It was ended early.
    pub interrupted: bool,
    /// What the network has carried.
    pub counted: Snapshot,
    /// Frames that the emulator did not fetch in time.
    pub overruns: u64,
}

impl Run<'_> {
    /// Runs everything to its end; `each` is told of each program that has ended.
    ///
    /// # Errors
    /// When a program of the file cannot be prepared, or the lab fails. A program that cannot be
    /// started is told of in its report.
    pub fn run(&self, each: &mut dyn FnMut(&ProgramReport)) -> Result<Conclusion, LabError> {
        let mut programs = transfers::programs(self.lab.hosts(), self.fanfare, self.out)?;
        programs.extend(self.scenario.programs.iter().cloned());
        if programs.is_empty() {
            let text = format!(
                "scenario ({}): has no program. Write a [[program]], or use fanfare lab up",
                self.scenario.name
            );
            return Err(LabError::new(Refusal::Usage, "lab.nothing", text));
        }
        let limit = self.scenario.plan(0).limit();
        let mut tasks = self.tasks(&programs)?;
        loop {
            let moment = RunState {
                now: self.lab.elapsed(),
                over: self.lab.elapsed() >= limit || self.is_stopped(),
                served: tasks.iter().all(Task::needs_no_service),
            };
            let mut ended = false;
            for task in &mut tasks {
                if let Some(report) = task.step(&moment)? {
                    each(report);
                    ended = true;
                }
            }
            if tasks.iter().all(Task::is_finished) {
                break;
            }
            // An end may be what others were kept for: those are looked after at once.
            if !ended {
                self.sleep(&tasks, &moment, limit);
            }
        }
        Ok(Conclusion {
            programs: tasks.into_iter().filter_map(Task::into_report).collect(),
            interrupted: self.is_stopped(),
            counted: self.lab.snapshot()?,
            overruns: self.lab.overruns()?,
        })
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_set() || self.lab.is_to_go_down()
    }

    /// Until a program ends, the next is due, or the run is to end.
    fn sleep(&self, tasks: &[Task], moment: &RunState, limit: Duration) {
        let due = tasks.iter().filter_map(|task| task.next_change(moment.now));
        let due = due.chain((!moment.over).then_some(limit)).min();
        let longest = due.map_or(LONG, |at| at.saturating_sub(self.lab.elapsed()));
        let mut waited: Vec<BorrowedFd<'_>> = tasks.iter().filter_map(Task::ended).collect();
        // Once it is over, these stay readable.
        if !moment.over {
            waited.push(self.stop.as_fd());
            waited.extend(self.lab.to_go_down().map(AsFd::as_fd));
        }
        wait::for_any(&waited, longest);
    }

    fn tasks(&self, programs: &[Program]) -> Result<Vec<Task>, LabError> {
        let task = |(number, program): (usize, &Program)| {
            let host = &self.lab.hosts()[usize::from(program.host.0)];
            let directory = self.out.join(host.name());
            std::fs::create_dir_all(&directory)
                .map_err(|error| transfers::unwritable(&directory, &error))?;
            // Programs may run elsewhere than here.
            let directory = directory.canonicalize().unwrap_or(directory);
            Task::new(number + 1, program, host, self.lab, directory)
        };
        programs.iter().enumerate().map(task).collect()
    }
}

/// `{node}`, `{address}`, `{dir}` and `{address:NAME}` in a word of a command. Anything else in
/// braces is left as it is.
fn filled(word: &str, host: &Host, lab: &Lab, directory: &Path) -> Result<String, LabError> {
    let mut text = word
        .replace("{node}", host.name())
        .replace("{address}", &host.address().to_string())
        .replace("{dir}", &directory.display().to_string());
    while let Some((before, rest)) = text.split_once("{address:") {
        let Some((name, after)) = rest.split_once('}') else { break };
        let Some(other) = lab.host(name) else {
            let text =
                format!("program ({word}): there is no host {name}. Use a host of this file");
            return Err(LabError::new(Refusal::Usage, "lab.node", text));
        };
        text = format!("{before}{}{after}", other.address());
    }
    Ok(text)
}
