//! `fanfare lab`: scenario files with real hosts, on this machine.

mod agree;
mod capture;
mod check;
mod company;
mod exec;
mod lines;
mod plot;
pub(crate) mod reproduce;
mod run;
mod status;
mod tactical;
mod up;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fanfare_lab::{LabError, Refusal, Stop};
use fanfare_sim::Scenario;

use crate::{
    exit::{Exit, Failure},
    progress::Output,
    sim,
};

/// Run real programs on a bad network: hosts on this machine, links from a scenario file
///
/// Each host is a network namespace with one interface, eth0; between them runs the model of the
/// simulator, in real time. Needs root. Nothing touches the machine's own network.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Up(up::UpArgs),
    Exec(exec::ExecArgs),
    Run(run::RunArgs),
    Status(status::StatusArgs),
    Capture(capture::CaptureArgs),
    Down(status::DownArgs),
    Check(check::CheckArgs),
    Reproduce(reproduce::ReproduceArgs),
    Agree(agree::AgreeArgs),
}

/// Which scenario.
#[derive(Debug, Args)]
struct FileArgs {
    /// Scenario file (TOML)
    file: PathBuf,
    /// Give a variable of the file a value; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = sim::run::variable)]
    set: Vec<(String, String)>,
    /// Seed of all losses and jitter [default: the file's]
    #[arg(long)]
    seed: Option<u64>,
}

/// Which lab of those that are up.
#[derive(Debug, Args)]
struct WhichArgs {
    /// Its name or its scenario's, when several are up
    #[arg(long, value_name = "NAME")]
    lab: Option<String>,
}

pub(crate) fn run(args: &LabArgs) -> Exit {
    match &args.what {
        What::Up(args) => up::run(args),
        What::Exec(args) => exec::run(args),
        What::Run(args) => run::run(args),
        What::Status(args) => status::run(args),
        What::Capture(args) => capture::run(args),
        What::Down(args) => status::down(args),
        What::Check(args) => check::run(args),
        What::Reproduce(args) => reproduce::run(args),
        What::Agree(args) => agree::run(args),
    }
}

fn load(args: &FileArgs) -> Result<Scenario, Vec<Failure>> {
    let values = args.set.iter().cloned().collect();
    sim::load_with(&args.file, |text, read| {
        Scenario::parse_for_laboratory_with(text, &values, read)
    })
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let exit = match error.refusal {
            Refusal::Permission => Exit::Permission,
            Refusal::Missing => Exit::Resource,
            Refusal::Usage => Exit::Usage,
            Refusal::System => Exit::Failed,
        };
        Self::new(exit, error.code, error.to_string())
    }
}

/// Shows why trials ended early.
pub(crate) fn ended_early(output: &Output, error: LabError, stop: &Stop) -> Exit {
    let exit = give_up(output, error);
    if stop.is_set() { Exit::Interrupted } else { exit }
}

/// Shows why nothing came of it.
pub(crate) fn give_up(output: &Output, error: LabError) -> Exit {
    crate::give_up(output, &error.into())
}
