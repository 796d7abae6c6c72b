//! The command `fanfare`: the same bytes on many machines, and who has them.
//!
//! - `send`, `recv`, `demo`, `doctor`, `sim`, `lab`, `bench`, `generate`: a file per command;
//!   `publish`, `subscribe`: `pub` and `sub`, `group_args`: what they have in common;
//!   `member`: `node`, `local`: its socket; `bridge`: to other groups, plain UDP multicast, and
//!   NATS; `gateway`: what gateways between groups have in common
//! - `streams`, `streams_args`: several `send` at once, of one process
//! - `config`: their options from a file, and again on SIGHUP
//! - `net_args`, `layers_args`, `units`: what they read; `progress`, `json`: what they show;
//!   `printable`: what others wrote
//! - `plain_receivers`, `skipped`: what `send` warns of once; `overruns`: what `recv` does; `deletion`: what `recv` says it removed
//! - `exit`, `interrupt`: how they end; `usage`: what clap refuses

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand, error::ErrorKind};

#[cfg(target_os = "linux")]
mod bench;
mod bridge;
mod config;
mod deletion;
mod demo;
mod doctor;
mod exit;
mod gateway;
mod generate;
mod group_args;
mod interrupt;
mod json;
#[cfg(target_os = "linux")]
mod lab;
mod layers_args;
mod local;
mod member;
mod net_args;
mod overruns;
mod plain_receivers;
mod printable;
mod progress;
mod publish;
mod recv;
mod roster;
mod send;
mod send_args;
mod sim;
mod skipped;
mod streams;
mod streams_args;
mod subscribe;
mod units;
mod usage;

use config::Refusal;
use exit::{Exit, Failure};
use json::Line;
use progress::Output;

/// Puts the same bytes on many machines and knows who has them.
#[derive(Debug, Parser)]
#[command(name = "fanfare", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Send(send_args::SendArgs),
    Recv(recv::RecvArgs),
    Pub(publish::PubArgs),
    Sub(subscribe::SubArgs),
    Node(member::NodeArgs),
    Bridge(bridge::BridgeArgs),
    Demo(demo::DemoArgs),
    Doctor(doctor::DoctorArgs),
    Sim(sim::SimArgs),
    #[cfg(target_os = "linux")]
    Lab(lab::LabArgs),
    #[cfg(target_os = "linux")]
    Bench(bench::BenchArgs),
    Config(config::ConfigArgs),
    #[command(hide = true)]
    Generate(generate::GenerateArgs),
}

impl Command {
    /// Whether there is a file that SIGHUP reads again.
    fn has_file(&self) -> bool {
        match self {
            Self::Send(args) => args.file.is_given(),
            Self::Recv(args) => args.file.is_given(),
            _ => false,
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let cli = match config::parse(&args) {
        Ok(cli) => cli,
        Err(Refusal::Line(error)) => return misunderstood(&error, &args),
        Err(Refusal::File(failures, output)) => {
            return give_up_all(&Output::new(output), &failures).into();
        }
    };
    interrupt::install(cli.command.has_file());
    progress::end(run(cli.command)).into()
}

fn run(command: Command) -> Exit {
    match command {
        Command::Send(args) => send::run(&args),
        Command::Recv(args) => recv::run(&args),
        Command::Pub(args) => publish::run(&args),
        Command::Sub(args) => subscribe::run(&args),
        Command::Node(args) => member::run(&args),
        Command::Bridge(args) => bridge::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Sim(args) => sim::run(&args),
        #[cfg(target_os = "linux")]
        Command::Lab(args) => lab::run(&args),
        #[cfg(target_os = "linux")]
        Command::Bench(args) => bench::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Generate(args) => generate::run(&args),
    }
}

/// Help and version are no errors; everything else is a line, in JSON too when it was asked for.
fn misunderstood(error: &clap::Error, args: &[OsString]) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _ = error.print();
        return Exit::Done.into();
    }
    let failure = Failure::from(error);
    match error.kind() {
        // All that is missing is what there is.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => drop(error.print()),
        _ => eprintln!("{failure}"),
    }
    if args.iter().any(|arg| arg == "--json") {
        let told = Line::message(failure.code, failure.to_string());
        progress::print_line(&Line::Error(told).to_text());
        progress::print_line(&Line::early_result(Exit::Usage as u8).to_text());
    }
    Exit::Usage.into()
}

/// Shows why nothing came of it.
fn give_up(output: &Output, failure: &Failure) -> Exit {
    output.clear();
    output.failure(failure);
    if output.is_json() {
        output.event(&Line::early_result(failure.exit as u8));
    }
    failure.exit
}

/// As [`give_up`], where there is more than one reason.
fn give_up_all(output: &Output, failures: &[Failure]) -> Exit {
    let Some((last, others)) = failures.split_last() else { return Exit::Failed };
    others.iter().for_each(|failure| output.failure(failure));
    give_up(output, last)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
