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

use clap::{Parser, Subcommand};

mod bridge;
mod config;
mod deletion;
mod demo;
mod doctor;
mod gateway;
mod generate;
mod group_args;
mod json;
mod laboratory;
mod layers_args;
mod local;
mod member;
mod net_args;
mod overruns;
mod plain_receivers;
mod publish;
mod recv;
mod roster;
mod send;
mod send_args;
mod skipped;
mod streams;
mod streams_args;
mod subscribe;
#[cfg(test)]
mod usage_tests;
mod warnings;

use config::Refusal;
use fanfare_command::{Exit, Output, end, give_up_all, interrupt, misunderstood};
use laboratory::LaboratoryArgs;

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
    /// Run real programs on an emulated network on this machine (program fanfare-lab)
    #[command(disable_help_flag = true)]
    Lab(LaboratoryArgs),
    /// Run scenario files in a simulator (program fanfare-lab)
    #[command(disable_help_flag = true)]
    Sim(LaboratoryArgs),
    /// Measure how fast this machine is (program fanfare-lab)
    #[command(disable_help_flag = true)]
    Bench(LaboratoryArgs),
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
    end(run(cli.command)).into()
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
        Command::Lab(args) => laboratory::run("lab", &args),
        Command::Sim(args) => laboratory::run("sim", &args),
        Command::Bench(args) => laboratory::run("bench", &args),
        Command::Config(args) => config::run(&args),
        Command::Generate(args) => generate::run(&args),
    }
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
