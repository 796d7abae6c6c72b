//! One program of a run, over crashes and restarts of its host.

use super::{ProgramReport, filled};
use crate::{
    error::LabError,
    host::Host,
    lab::Lab,
    process::{Ending, Process},
};
use fanfare_sim::{ExpectedExit, Program, ProgramCommand};
use rustix::{fd::BorrowedFd, process::Signal};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// From SIGTERM to SIGKILL: what a program may need to say good-bye to its peers.
const GOODBYE: Duration = Duration::from_secs(3);

/// What a task has to know of the run.
#[derive(Debug)]
pub(super) struct RunState {
    pub(super) now: Duration,
    /// The run is over: by its time, or by the user's will.
    pub(super) over: bool,
    /// All programs that others serve have ended.
    pub(super) served: bool,
}

/// A program and how far it is.
#[derive(Debug)]
pub(super) struct Task {
    program: Program,
    words: Vec<String>,
    namespace: String,
    node: String,
    address: String,
    directory: PathBuf,
    /// When its host comes and goes.
    presence: Vec<(Duration, bool)>,
    /// What its output files begin with.
    stem: String,
    state: State,
}

#[derive(Debug)]
enum State {
    Waiting,
    Running {
        process: Process,
        since: Duration,
        told: Option<Duration>,
        killed: bool,
    },
    /// Its host has crashed.
    Gone,
    Ended(Box<ProgramReport>),
}

impl Task {
    pub(super) fn new(
        number: usize,
        program: &Program,
        host: &Host,
        lab: &Lab,
        directory: PathBuf,
    ) -> Result<Self, LabError> {
        let words = match &program.command {
            ProgramCommand::Words(words) => words.clone(),
            ProgramCommand::Shell(text) => ["sh", "-c", text].map(str::to_owned).to_vec(),
        };
        let fill = |word: &String| filled(word, host, lab, &directory);
        let words = words.iter().map(fill).collect::<Result<Vec<String>, LabError>>()?;
        let called = match &program.command {
            ProgramCommand::Words(words) => words.first().map_or("", String::as_str),
            ProgramCommand::Shell(text) => text.split_whitespace().next().unwrap_or_default(),
        };
        let called = Path::new(called).file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            program: program.clone(),
            words,
            namespace: host.namespace().to_owned(),
            node: host.name().to_owned(),
            address: host.address().to_string(),
            presence: host.entry().presence.clone(),
            stem: format!("{number}-{called}"),
            directory,
            state: State::Waiting,
        })
    }

    /// Looks after it; gives its report when it has just ended.
    pub(super) fn step(&mut self, moment: &RunState) -> Result<Option<&ProgramReport>, LabError> {
        let present = is_present(&self.presence, moment.now);
        match &mut self.state {
            State::Waiting | State::Gone => {
                if moment.over || self.program.background && moment.served {
                    self.give_up(moment.now);
                } else if present && moment.now >= self.program.start {
                    self.start(moment.now);
                }
            }
            State::Running { process, since, told, killed } => {
                let failed = |error| LabError::system(format!("program ({})", self.node), &error);
                if let Some(ending) = process.try_end().map_err(failed)? {
                    let cpu = process.usage().cpu;
                    let (since, told, killed) = (*since, told.is_some(), *killed);
                    if killed && !present && self.comes_back(moment.now) {
                        self.state = State::Gone;
                    } else {
                        self.end(since, moment.now, Some(ending), told || killed, cpu);
                    }
                } else if !present && !*killed {
                    process.signal(Signal::KILL);
                    *killed = true;
                } else {
                    let stop = self.program.stop.is_some_and(|at| moment.now >= at);
                    let unneeded = self.program.background && moment.served;
                    match told {
                        None if stop || unneeded || moment.over => {
                            process.signal(Signal::TERM);
                            *told = Some(moment.now);
                        }
                        Some(at) if moment.now >= *at + GOODBYE => process.signal(Signal::KILL),
                        _ => {}
                    }
                }
            }
            State::Ended(_) => return Ok(None),
        }
        Ok(match &self.state {
            State::Ended(report) => Some(report),
            _ => None,
        })
    }

    /// The run is over before it could start, or start again.
    fn give_up(&mut self, now: Duration) {
        if matches!(self.state, State::Gone) {
            return self.end(now, now, Some(Ending::Signal(Signal::KILL.as_raw())), true, 0.0);
        }
        self.not_started(now, "the run ended before its start time");
    }
    fn not_started(&mut self, now: Duration, why: &str) {
        // Where its output goes is where this belongs, too.
        let _ = std::fs::write(self.output("err"), format!("not started: {why}\n"));
        self.end(now, now, None, false, 0.0);
    }

    fn start(&mut self, now: Duration) {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace]).args(&self.words);
        command.env("FANFARE_NODE", &self.node).env("FANFARE_ADDRESS", &self.address);
        command.env("FANFARE_DIR", &self.directory);
        match self.launch(command) {
            Ok(process) => {
                self.state = State::Running { process, since: now, told: None, killed: false };
            }
            Err(error) => self.not_started(now, &error.to_string()),
        }
    }

    /// What it prints goes to files.
    fn launch(&self, command: Command) -> io::Result<Process> {
        let file = |suffix| File::create(self.output(suffix));
        Process::start(command, file("out")?, file("err")?)
    }

    fn end(
        &mut self,
        started: Duration,
        now: Duration,
        ending: Option<Ending>,
        was_ended: bool,
        cpu_seconds: f64,
    ) {
        let report = ProgramReport {
            node: self.node.clone(),
            command: self.words.join(" "),
            started,
            ran: now.saturating_sub(started),
            ending,
            was_ended,
            ok: self.is_as_expected(ending, was_ended),
            cpu_seconds,
            stdout: self.output("out"),
            stderr: self.output("err"),
        };
        self.state = State::Ended(Box::new(report));
    }

    /// A program that the file stops, or whose host it crashes, may end by that.
    fn is_as_expected(&self, ending: Option<Ending>, was_ended: bool) -> bool {
        let meant = self.program.stop.is_some()
            || self.program.background
            || self.presence.iter().any(|(_, present)| !present);
        match (self.program.expect, ending) {
            (_, None) => false,
            (ExpectedExit::Any, _) => true,
            (ExpectedExit::Code(code), Some(Ending::Code(was))) => was == i32::from(code),
            (ExpectedExit::Code(_), Some(Ending::Signal(_))) => was_ended && meant,
        }
    }

    fn comes_back(&self, now: Duration) -> bool {
        self.presence.iter().any(|(at, present)| *at > now && *present)
    }
    fn output(&self, suffix: &str) -> PathBuf {
        self.directory.join(format!("{}.{suffix}", self.stem))
    }

    /// What happens to it next by the clock, after `now`.
    pub(super) fn next_change(&self, now: Duration) -> Option<Duration> {
        let own = match &self.state {
            State::Waiting => [Some(self.program.start), None],
            State::Running { told, .. } => [self.program.stop, told.map(|at| at + GOODBYE)],
            State::Gone => [None; 2],
            State::Ended(_) => return None,
        };
        let hosts = self.presence.iter().map(|(at, _)| *at);
        own.into_iter().flatten().chain(hosts).filter(|at| *at > now).min()
    }
    /// Can be read when it has ended by itself.
    pub(super) fn ended(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            State::Running { process, .. } => process.end(),
            _ => None,
        }
    }

    /// It has ended, or is one that serves others.
    pub(super) fn needs_no_service(&self) -> bool {
        self.program.background || matches!(self.state, State::Ended(_))
    }
    /// Nothing more will come of it.
    pub(super) fn is_finished(&self) -> bool {
        matches!(self.state, State::Ended(_))
    }
    pub(super) fn into_report(self) -> Option<ProgramReport> {
        match self.state {
            State::Ended(report) => Some(*report),
            _ => None,
        }
    }
}

/// Whether a host is there now.
fn is_present(presence: &[(Duration, bool)], now: Duration) -> bool {
    presence.iter().take_while(|(at, _)| *at <= now).last().is_some_and(|(_, present)| *present)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_there_from_its_start_to_its_crash_and_again_after_its_restart() {
        let seconds = Duration::from_secs;
        let presence = [(seconds(1), true), (seconds(3), false), (seconds(5), true)];
        let there = [0, 1, 2, 3, 4, 5, 9].map(|s| is_present(&presence, seconds(s)));
        assert_eq!(there, [false, true, true, false, false, true, true]);
    }
}
