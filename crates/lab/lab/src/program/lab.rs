//! `fanfare lab`: scenario files with real hosts, on this machine: a file per command, and `files`, what
//! a lab has here while it is up.

mod agree;
mod capture;
mod check;
mod exec;
mod files;
mod lines;
mod reproduce;
mod run;
mod status;
mod up;
mod which;

use clap::{Args, Subcommand};
use fanfare_command::Exit;
use files::FILES;

/// Run real programs on emulated networks, on this machine
///
/// Each host is a network namespace with one interface, eth0. The links between the hosts are
/// emulated in real time, as a scenario file says. Needs Linux and root. The network of this
/// machine is not touched.
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
