//! `fanfare sim`: scenario files in virtual time.

mod bench;
mod campaign;
mod cpu_time;
mod curve_plot;
mod dask;
mod lines;
mod made;
mod plot;
mod run;
mod seeds;
mod sweep;
mod table;
mod written;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fanfare_command::{Exit, Help, Output, OutputArgs, give_up_all};
use fanfare_sim::Values;

use crate::scenario_files::{is_experiment, load, toml_files};

/// Simulate networks in virtual time
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Run(run::RunArgs),
    Table(table::TableArgs),
    Sweep(sweep::SweepArgs),
    Check(CheckArgs),
    List(ListArgs),
    Bench(bench::BenchArgs),
}

const CHECK: Help = Help::new(&[
    ("fanfare sim check scenarios/files/small.toml", "one file"),
    ("fanfare sim check scenarios/files/*.toml", "all of a directory"),
])
.exits(&[(Exit::Done, "the files are right")]);

/// Find every mistake in scenario and experiment files
#[derive(Debug, Args)]
#[command(after_help = CHECK.short(), after_long_help = CHECK.long())]
struct CheckArgs {
    /// Scenario and experiment files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

const LIST: Help = Help::new(&[
    ("fanfare sim list", "those of scenarios/files"),
    ("fanfare sim list my-scenarios --json", "for programs"),
]);

/// List the scenario files of a directory, and what each is about
#[derive(Debug, Args)]
#[command(after_help = LIST.short(), after_long_help = LIST.long())]
struct ListArgs {
    /// The directory
    #[arg(default_value = "scenarios/files")]
    dir: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &SimArgs) -> Exit {
    match &args.what {
        What::Run(args) => run::run(args),
        What::Table(args) => table::run(args),
        What::Sweep(args) => sweep::run(args),
        What::Check(args) => check(args),
        What::List(args) => list(args),
        What::Bench(args) => bench::run(args),
    }
}

fn check(args: &CheckArgs) -> Exit {
    let output = Output::new(args.output);
    let mut failures = Vec::new();
    for path in &args.files {
        let name = match is_experiment(path) {
            true => table::check(path),
            false => load(path, &Values::new()).map(|scenario| scenario.name),
        };
        match name {
            Ok(name) => output.text(&format!("{}: {name} is right", path.display())),
            Err(mistakes) => failures.extend(mistakes),
        }
    }
    if failures.is_empty() {
        lines::Checked::new(args.files.len()).print(&output);
        return Exit::Done;
    }
    give_up_all(&output, &failures)
}

fn list(args: &ListArgs) -> Exit {
    let output = Output::new(args.output);
    let paths = match toml_files(&args.dir) {
        Ok(paths) => paths,
        Err(failure) => return give_up_all(&output, &[failure]),
    };
    let listed: Vec<lines::Listed> = paths.iter().map(|path| lines::Listed::of(path)).collect();
    listed.iter().for_each(|line| line.print(&output));
    lines::Checked::new(listed.len()).print(&output);
    Exit::Done
}
