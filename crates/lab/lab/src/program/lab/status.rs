//! `fanfare lab status` and `fanfare lab down`: labs that other processes run.

use std::{collections::BTreeSet, time::Duration};

use clap::Args;
use fanfare_lab::{LabError, RunningLab, clear_all, clear_leftovers};

use fanfare_command::{Exit, Help, Output, OutputArgs};

use super::{lines, which::WhichArgs};
use crate::ending::{EXITS, give_up, stop};

/// Longest time in which a lab of hundreds of hosts goes down.
const PATIENCE: Duration = Duration::from_secs(60);
/// Eyes do not follow faster.
const WATCH: Duration = Duration::from_secs(1);

const STATUS: Help = Help::new(&[
    ("fanfare lab status", "all labs"),
    ("fanfare lab status --watch", "again every second"),
])
.exits(EXITS)
.files(super::FILES);

/// Show the labs that are up: hosts, packets, links, and how late the emulator is
#[derive(Debug, Args)]
#[command(after_help = STATUS.short(), after_long_help = STATUS.long())]
pub(super) struct StatusArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Repeat every second, until Ctrl-C or until no lab is up
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    output: OutputArgs,
}

const DOWN: Help = Help::new(&[
    ("fanfare lab down", "all labs"),
    ("fanfare lab down --all", "and everything that any run has made"),
    ("fanfare lab down --lab classroom", "one of them"),
])
.exits(EXITS)
.files(super::FILES);

/// Stop labs, and remove what crashed ones have left
#[derive(Debug, Args)]
#[command(after_help = DOWN.short(), after_long_help = DOWN.long())]
pub(super) struct DownArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Remove every network namespace of the laboratory, also of benchmarks that are running
    ///
    /// They are found by their names, which begin with ffl. What runs in them is killed.
    #[arg(long, conflicts_with = "lab")]
    all: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &StatusArgs) -> Exit {
    let output = Output::new(args.output);
    let stop = match args.watch.then(stop).transpose() {
        Ok(stop) => stop,
        Err(error) => return give_up(&output, &error),
    };
    loop {
        let up = match show(args, &output) {
            Ok(up) => up,
            Err(error) => return give_up(&output, &error),
        };
        if up == 0 || stop.as_ref().is_none_or(|stop| stop.wait(WATCH)) {
            lines::Ended::new(up).print(&output, "up");
            return Exit::Done;
        }
    }
}

/// Shows all that are meant; gives how many.
fn show(args: &StatusArgs, output: &Output) -> Result<usize, LabError> {
    let (mut up, mut silent) = (0, None);
    for lab in RunningLab::all() {
        let status = match lab.status() {
            Ok(status) => status,
            // It may be going down: the others are shown all the same.
            Err(error) => {
                silent = lab.is_up().then_some(error).or(silent);
                continue;
            }
        };
        let named = |name: &String| status.lab == *name || status.scenario == *name;
        if args.which.lab.as_ref().is_none_or(named) {
            up += 1;
            lines::StatusLine::new(&status).print(output);
        }
    }
    silent.filter(|_| up == 0).map_or(Ok(up), Err)
}

pub(super) fn down(args: &DownArgs) -> Exit {
    let output = Output::new(args.output);
    if let Err(error) = fanfare_lab::check_rights() {
        return give_up(&output, &error);
    }
    let mut ended = 0;
    for lab in RunningLab::all() {
        let asked = match (lab.status(), &args.which.lab) {
            (Ok(status), Some(name)) => status.lab == *name || status.scenario == *name,
            (Ok(_), None) => true,
            // Its process is about to end.
            (Err(_), _) => false,
        };
        if !asked {
            continue;
        }
        if let Err(error) = lab.down(PATIENCE) {
            return give_up(&output, &error);
        }
        ended += 1;
    }
    let cleared = if args.all { clear_all() } else { clear_leftovers() };
    match cleared {
        Ok(cleared) => {
            cleared.iter().for_each(|name| output.text(&format!("cleared what was left: {name}")));
            lines::Ended::new(ended + runs(&cleared)).print(&output, "taken down");
            Exit::Done
        }
        Err(error) => give_up(&output, &error),
    }
}

/// Of how many runs these namespaces are: a name is a run's, then `h` and the number of a host, or `b`.
fn runs(namespaces: &[String]) -> usize {
    let run = |name: &String| {
        let run = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        run.trim_end_matches(['h', 'b']).to_owned()
    };
    namespaces.iter().map(run).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_of_one_run_are_counted_once() {
        let names = ["ffl7x0h1", "ffl7x0h22", "ffl7x1b", "ffl7x1h1", "ffl9x0h1"];
        assert_eq!(runs(&names.map(str::to_owned)), 3);
        assert_eq!(runs(&[]), 0);
    }
}
