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

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fanfare_command::{Companion, Help, generate::GenerateCommand};

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
    #[command(flatten)]
    Generate(GenerateCommand),
}

fn main() -> ExitCode {
    Companion::Sensor.main(|cli: Cli| match cli.command {
        Command::Sensor(args) => sensor::run(&args),
        Command::Generate(command) => Companion::Sensor.generate::<Cli>(&command),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use fanfare_command::pages;

    use super::*;

    #[test]
    fn the_page_of_reference_is_what_the_program_says() {
        let head = "# Options of sensor

*For people who use `fanfare sensor`. Afterwards you know every option. This page is made of
`--help`.*

[Commands](../cli.md) is the overview. [All options](fanfare.md) has the commands of `fanfare`.
";
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/options/sensor.md");
        pages::check_reference(Cli::command(), head, path.as_ref());
    }
}
