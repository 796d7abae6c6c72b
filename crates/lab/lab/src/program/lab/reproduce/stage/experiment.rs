//! An experiment of runs that each start programs: from its plan to its tables.

use fanfare_command::{Exit, Failure, Output};
use fanfare_lab::{Stop, until_stopped};

use super::super::options::{ReproduceArgs, conclude};
use crate::ending::{failure, give_up, interrupted, stop};

/// What is to be run, and what becomes of it.
pub(in super::super) struct Experiment<P, R> {
    /// What it and its tables are called.
    pub(in super::super) name: &'static str,
    /// The directory of results that its tables go to.
    pub(in super::super) family: &'static str,
    /// All runs.
    pub(in super::super) planned: Vec<P>,
    /// So many side by side at most.
    pub(in super::super) jobs: usize,
    /// One run.
    pub(in super::super) run: fn(&P, &Stop) -> Result<R, Failure>,
    /// What is said of it when it has ended.
    pub(in super::super) line: fn(&R) -> String,
    /// The tables of all, in the order of the plan: for people, and for programs.
    pub(in super::super) tables: [fn(&[R]) -> String; 2],
}

impl<P: Send, R: Send> Experiment<P, R> {
    /// Runs all of it, and writes the tables.
    pub(in super::super) fn run(self, args: &ReproduceArgs, output: &Output) -> Exit {
        let stop = match stop() {
            Ok(stop) => stop,
            Err(error) => return give_up(output, &error),
        };
        if let Err(error) = fanfare_lab::check_rights() {
            return give_up(output, &error);
        }
        let run = |_, planned: P| (self.run)(&planned, &stop);
        let mut tell = |row: &R| output.text(&(self.line)(row));
        let rows = match until_stopped(self.jobs, self.planned, &stop, run, &mut tell) {
            Ok(Some(rows)) => rows,
            Err(failure) if !stop.is_set() => return fanfare_command::give_up(output, &failure),
            Ok(None) | Err(_) => return interrupted(output),
        };
        let (trials, [people, programs]) = (args.trials(self.family), self.tables);
        if let Err(error) = trials.write(self.name, &people(&rows), &programs(&rows)) {
            return fanfare_command::give_up(output, &failure(&error));
        }
        conclude(Ok(false), &trials.out.join(format!("{}.md", self.name)), &stop, output)
    }
}
