//! The program `fanfare-lab`: laboratory, simulator and benchmarks.
//!
//! `fanfare lab`, `fanfare sim` and `fanfare bench` start it.
//!
//! - `lab`: real programs on an emulated network; `sim`: scenarios in virtual time; `bench`: how fast
//!   this machine is
//! - `scenario_files`: what both read; `choice`: systems and cells by name; `drawing`: what plots share
//! - `fanfare`: the program that is measured; `ending`: how commands of the laboratory end

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand};

#[cfg(target_os = "linux")]
mod bench;
#[cfg(target_os = "linux")]
mod choice;
mod drawing;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod fanfare;
#[cfg(target_os = "linux")]
mod lab;
mod scenario_files;
mod sim;

use fanfare_command::{end, interrupt, misunderstood};

/// Laboratory, simulator and benchmarks of Fanfare.
// It is called as fanfare is, because people type `fanfare lab`.
#[derive(Debug, Parser)]
#[command(name = "fanfare", bin_name = "fanfare", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(target_os = "linux")]
    Lab(lab::LabArgs),
    Sim(sim::SimArgs),
    #[cfg(target_os = "linux")]
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return misunderstood(&error, &args),
    };
    interrupt::install(false);
    let exit = match cli.command {
        #[cfg(target_os = "linux")]
        Command::Lab(args) => lab::run(&args),
        Command::Sim(args) => sim::run(&args),
        #[cfg(target_os = "linux")]
        Command::Bench(args) => bench::run(&args),
    };
    end(exit).into()
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
