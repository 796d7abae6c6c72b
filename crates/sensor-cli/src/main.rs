//! The program `fanfare-sensor`: what passes by on this machine's network, for the monitor.
//!
//! `fanfare sensor` starts it.
//!
//! - `options`: what is to be looked at; `sensor`: the loop; `look`: one span of time
//! - `agents`: SNMP agents, each in a thread; `monitor`: where reports go; `said`: reports as text

mod agents;
mod look;
mod monitor;
mod options;
mod said;
mod sensor;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory as _, Parser, Subcommand};
use fanfare_command::{
    Help, end,
    generate::{self, CompletionsArgs, ManArgs},
    misunderstood,
};

const HELP: Help = Help::new(&[
    ("sudo fanfare sensor", "what passes by on this machine's interfaces"),
    ("fanfare sensor --read trace.pcap", "the same of a capture file"),
]);

/// Tell what passes by on this machine's network
///
/// 'fanfare sensor' starts this program, fanfare-sensor.
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
    Sensor(Box<options::SensorArgs>),
    #[command(hide = true)]
    Completions(CompletionsArgs),
    #[command(hide = true)]
    Man(ManArgs),
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return misunderstood(&error, &args),
    };
    let exit = match cli.command {
        Command::Sensor(args) => sensor::run(&args),
        Command::Completions(args) => generate::completions(&args, program()),
        Command::Man(args) => generate::man(&args, program()),
    };
    end(exit).into()
}

/// The whole command line, called as its file is.
fn program() -> clap::Command {
    Cli::command().name("fanfare-sensor").bin_name("fanfare-sensor")
}

#[cfg(test)]
mod tests {
    use fanfare_command::pages;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_page_of_reference_is_what_the_program_says() {
        let head = "# Options of sensor

*For people who use `fanfare sensor`. Afterwards you know every option. This page is made of
`--help`.*

[Commands](../cli.md) is the overview. [All options](fanfare.md) has the commands of `fanfare`.
";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/options/sensor.md");
        pages::check_reference(Cli::command(), head, path.as_ref());
    }
}
