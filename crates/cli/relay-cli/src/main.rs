//! The program `fanfare-relay`: joins islands that no multicast reaches. `fanfare relay` starts it.
//!
//! - `options`: what is asked for, and what it comes to; `serving`: a relay until a signal comes
//! - `lines`: lines of `--json`, and the same for people

mod lines;
mod options;
mod serving;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fanfare_command::{Companion, Help, generate::GenerateCommand, interrupt};

const HELP: Help = Help::new(&[
    ("fanfare relay --join 239.255.42.1:6003 --accept 10.0.1.5", "beside the receivers"),
    ("fanfare send disk.img --to relay-b --with-group --expect 30", "at 10.0.1.5"),
]);

/// Join islands that no multicast reaches
///
/// 'fanfare relay' starts this program, fanfare-relay.
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
    Relay(options::RelayArgs),
    #[command(flatten)]
    Generate(GenerateCommand),
}

fn main() -> ExitCode {
    Companion::Relay.main(|cli: Cli| {
        interrupt::install(false);
        match cli.command {
            Command::Relay(args) => serving::run(&args),
            Command::Generate(command) => Companion::Relay.generate::<Cli>(&command),
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
        let head = "# Options of relay

*For people who run `fanfare relay`. Afterwards you know every option. This page is made of
`--help`.*

[Join islands with a relay](../../how-to/reach/join-islands.md) begins with an example. [All
options](fanfare.md) has the commands of `fanfare`.
";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/options/relay.md");
        pages::check_reference(Cli::command(), head, path.as_ref());
    }
}
