//! `fanfare sim`: scenario files in virtual time.

mod bench;
mod campaign;
mod curve_plot;
mod lines;
mod plot;
pub(crate) mod run;
mod sweep;
mod table;

pub(crate) use plot::{COLOURS, DrawError};

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use fanfare_sim::{
    Experiment, Scenario, Values,
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
    Table(table::TableArgs),
    Check(CheckArgs),
    List(ListArgs),
    Bench(bench::BenchArgs),
}

/// Tell every mistake in scenario and experiment files
#[derive(Debug, Args)]
struct CheckArgs {
    /// Scenario and experiment files
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
        What::Table(args) => table::run(args),
        What::Check(args) => check(args),
        What::List(args) => list(args),
        What::Bench(args) => bench::run(args),
    }
}

/// The text of a scenario or experiment file.
fn text_of(path: &Path) -> Result<String, Vec<Failure>> {
    let unreadable = |error: std::io::Error| {
        let shown = path.display();
        let text = format!("scenario ({shown}): cannot be read ({error}). Name a .toml file");
        vec![Failure::usage("scenario.unreadable", text)]
    };
    std::fs::read_to_string(path).map_err(unreadable)
}
/// How a file gets at those that it names: they are beside it.
fn read_beside(path: &Path) -> impl Fn(&str) -> Result<String, String> {
    let beside = path.parent().unwrap_or(Path::new(".")).to_path_buf();
    move |file| {
        let text = std::fs::read_to_string(beside.join(file));
        text.map_err(|error| {
            format!("cannot be read ({error}). Put it beside {}", beside.display())
        })
    }
}
fn invalid(path: &Path, mistakes: Vec<Mistake>) -> Vec<Failure> {
    let failure = |mistake: Mistake| {
        Failure::usage("scenario.invalid", format!("{} {mistake}", path.display()))
    };
    mistakes.into_iter().map(failure).collect()
}

/// Reads a scenario file; every mistake in it is a failure.
fn load(path: &Path, values: &Values) -> Result<Scenario, Vec<Failure>> {
    load_with(path, |text, read| Scenario::parse_with(text, values, read))
}
/// The same for the simulator, or for the laboratory.
pub(crate) fn load_with(
    path: &Path,
    parse: impl Fn(&str, &ReadFile<'_>) -> Result<Scenario, Vec<Mistake>>,
) -> Result<Scenario, Vec<Failure>> {
    let text = text_of(path)?;
    parse(&text, &read_beside(path)).map_err(|mistakes| invalid(path, mistakes))
}
/// Reads an experiment file.
fn load_experiment(path: &Path) -> Result<Experiment, Vec<Failure>> {
    let text = text_of(path)?;
    Experiment::parse(&text, &read_beside(path)).map_err(|mistakes| invalid(path, mistakes))
}
/// What a file says that it is.
fn is_experiment(path: &Path) -> bool {
    text_of(path).is_ok_and(|text| text.lines().any(|line| line.trim() == "[experiment]"))
}
/// The .toml files of a directory, by name.
fn toml_files(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(dir).map_err(|error| {
        let text = format!("directory ({}): cannot be read ({error}). Name another", dir.display());
        Failure::usage("directory.missing", text)
    })?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    Ok(paths)
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
