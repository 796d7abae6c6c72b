//! The program `fanfare-proxy`: links between two nodes, and TCP over them.
//!
//! `fanfare link` and `fanfare proxy` start it.
//!
//! - `link`: a link and its messages; `proxy`: TCP over a link
//! - `peers`: who the other ends are, as they are written; `identity`: this machine's key
//! - `running`: until a signal comes; `status`: the socket that tells how it is
//! - `lines`: lines of `--json`; `exits`: how commands end

mod exits;
mod identity;
mod lines;
mod link;
mod peers;
mod proxy;
mod running;
mod status;

use exits::EXITS;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fanfare_command::{Companion, Help, generate::GenerateCommand};

const HELP: Help = Help::new(&[
    ("fanfare proxy server --accept ship=KEY --allow 10.0.0.0/8", "on the far side"),
    ("fanfare proxy client --peer base=198.51.100.7:7001,KEY", "on the near side"),
    ("fanfare link send base=198.51.100.7:7001,KEY 'here I am'", "one message"),
]);

/// Links between two nodes, and TCP over them
///
/// 'fanfare link' and 'fanfare proxy' start this program, fanfare-proxy.
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
    Link(Box<link::LinkArgs>),
    Proxy(Box<proxy::ProxyArgs>),
    #[command(flatten)]
    Generate(GenerateCommand),
}

fn main() -> ExitCode {
    Companion::Proxy.main(|cli: Cli| match cli.command {
        Command::Link(args) => link::run(&args),
        Command::Proxy(args) => proxy::run(&args),
        Command::Generate(command) => Companion::Proxy.generate::<Cli>(&command),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use fanfare_command::pages;

    use super::*;

    #[test]
    fn the_page_of_reference_is_what_the_program_says() {
        let head = "# Options of link and proxy

*For people who use `fanfare link` or `fanfare proxy`. Afterwards you know every option. This page
is made of `--help`.*

[Commands](../cli.md) is the overview. [All options](fanfare.md) has the commands of `fanfare`.
";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/options/proxy.md");
        pages::check_reference(Cli::command(), head, path.as_ref());
    }
}
