//! The program `fanfare-lab`: laboratory, simulator and benchmarks.
//!
//! `fanfare lab`, `fanfare sim` and `fanfare bench` start it.
//!
//! - `lab`: real programs on an emulated network; `sim`: scenarios in virtual time; `bench`: how fast
//!   this machine is
//! - `scenario_files`: what both read; `choice`: systems and cells by name; `drawing`: what plots share
//! - `fanfare`: the program that is measured; `ending`: how commands of the laboratory end

use std::process::ExitCode;

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

use fanfare_command::{Companion, Help, generate::GenerateCommand, interrupt};

const HELP: Help = Help::new(&[
    ("fanfare lab up scenarios/files/classroom.toml", "31 hosts on this machine"),
    ("fanfare sim run scenarios/files/small.toml", "a simulated network"),
    ("fanfare bench throughput", "how fast this machine is"),
]);

/// Laboratory, simulator and benchmarks of Fanfare
///
/// 'fanfare lab', 'fanfare sim' and 'fanfare bench' start this program, fanfare-lab.
// It is called as fanfare is, because that is what people type.
#[derive(Debug, Parser)]
#[command(
    name = "fanfare", bin_name = "fanfare", version, max_term_width = 100,
    after_help = HELP.short(), after_long_help = HELP.long()
)]
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
    #[command(flatten)]
    Generate(GenerateCommand),
}

fn main() -> ExitCode {
    Companion::Lab.main(|cli: Cli| {
        interrupt::install(false);
        match cli.command {
            #[cfg(target_os = "linux")]
            Command::Lab(args) => lab::run(&args),
            Command::Sim(args) => sim::run(&args),
            #[cfg(target_os = "linux")]
            Command::Bench(args) => bench::run(&args),
            Command::Generate(command) => Companion::Lab.generate::<Cli>(&command),
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use fanfare_command::pages;

    use super::*;

    #[test]
    fn the_page_of_reference_is_what_the_program_says() {
        let head = "# Options of lab, sim and bench

*For people who use `fanfare lab`, `sim` or `bench`. Afterwards you know every option. This page is
made of `--help`.*

[Commands](../cli.md) is the overview. [All options](fanfare.md) has the commands of `fanfare`.
";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/options/lab.md");
        pages::check_reference(Cli::command(), head, path.as_ref());
    }
}
