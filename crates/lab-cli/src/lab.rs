//! `fanfare lab`: scenario files with real hosts, on this machine.

mod agree;
mod capture;
mod check;
mod exec;
mod lines;
mod reproduce;
mod run;
mod status;
mod up;
mod which;

use clap::{Args, Subcommand};
use fanfare_command::Exit;

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
