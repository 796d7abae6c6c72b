//! `fanfare sim`: scenario files in virtual time.

mod bench;
mod lines;
mod plot;
mod run;
mod sweep;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use fanfare_sim::{
    Scenario,
    scenario::{Mistake, ReadFile},
};

use crate::{
    exit::{Exit, Failure},
    give_up_all,
    progress::{Output, OutputArgs},
};

/// Run scenario files in virtual time
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Run(run::RunArgs),
    Check(CheckArgs),
    List(ListArgs),
    Bench(bench::BenchArgs),
}

/// Tell every mistake in scenario files
#[derive(Debug, Args)]
struct CheckArgs {
    /// Scenario files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Name the scenario files in a directory
#[derive(Debug, Args)]
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
        What::Check(args) => check(args),
        What::List(args) => list(args),
        What::Bench(args) => bench::run(args),
    }
}

/// How the text of a scenario is read, given what reads the files that it names.
type Parse = fn(&str, &ReadFile<'_>) -> Result<Scenario, Vec<Mistake>>;

/// Reads a scenario file; every mistake in it is a failure.
fn load(path: &Path) -> Result<Scenario, Vec<Failure>> {
    load_with(path, Scenario::parse)
}

/// The same for the simulator, or for the laboratory.
pub(crate) fn load_with(path: &Path, parse: Parse) -> Result<Scenario, Vec<Failure>> {
    let unreadable = |error: std::io::Error| {
        let shown = path.display();
        let text = format!("scenario ({shown}): cannot be read ({error}). Name a .toml file");
        vec![Failure::usage("scenario.unreadable", text)]
    };
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let beside = path.parent().unwrap_or(Path::new("."));
    let read = |file: &str| {
        let text = std::fs::read_to_string(beside.join(file));
        text.map_err(|error| format!("cannot be read ({error}). Put it beside the scenario"))
    };
    let failure = |mistake: Mistake| {
        Failure::usage("scenario.invalid", format!("{} {mistake}", path.display()))
    };
    parse(&text, &read).map_err(|list| list.into_iter().map(failure).collect())
}

fn check(args: &CheckArgs) -> Exit {
    let output = Output::new(args.output);
    let mut failures = Vec::new();
    for path in &args.files {
        match load(path) {
            Ok(scenario) => output.text(&format!("{}: {} is right", path.display(), scenario.name)),
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
    let entries = match std::fs::read_dir(&args.dir) {
        Ok(entries) => entries,
        Err(error) => {
            let shown = args.dir.display();
            let text = format!("directory ({shown}): cannot be read ({error}). Name another");
            return give_up_all(&output, &[Failure::usage("directory.missing", text)]);
        }
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let listed: Vec<lines::Listed> = paths.iter().map(|path| lines::Listed::of(path)).collect();
    listed.iter().for_each(|line| line.print(&output));
    lines::Checked::new(listed.len()).print(&output);
    Exit::Done
}
