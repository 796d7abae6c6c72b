//! The program `fanfare-video`: video to a group, and a server for players at each node.
//!
//! `fanfare video` starts it.
//!
//! - `member`: options of the group
//! - `send`: pictures through ffmpeg, as messages
//! - `serve`: what comes, as HLS and DASH for players of this machine
//! - `lines`: lines of `--json`; `exits`: how commands end

mod exits;
mod lines;
mod member;
mod send;
mod serve;

use exits::EXITS;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fanfare_command::{Companion, Help, generate::GenerateCommand, interrupt};

const HELP: Help = Help::new(&[
    ("fanfare video send test --name gate", "bars, a running number and a tone"),
    ("fanfare video send film.mp4 --renditions 64k,400k,1500k", "a file, as if it were live"),
    ("fanfare video serve", "then open http://127.0.0.1:8080/"),
]);

/// Video to a group, and a server for players at each node
///
/// 'fanfare video' starts this program, fanfare-video.
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
    /// Video to a group, and a server for players
    #[command(subcommand)]
    Video(VideoCommand),
    #[command(flatten)]
    Generate(GenerateCommand),
}

#[derive(Debug, Subcommand)]
enum VideoCommand {
    Send(Box<send::SendArgs>),
    Serve(Box<serve::ServeArgs>),
}

fn main() -> ExitCode {
    Companion::Video.main(|cli: Cli| {
        interrupt::install(false);
        match cli.command {
            Command::Video(VideoCommand::Send(args)) => send::run(&args),
            Command::Video(VideoCommand::Serve(args)) => serve::run(&args),
            Command::Generate(command) => Companion::Video.generate::<Cli>(&command),
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
        let head = "# Options of video

*For people who use `fanfare video`. Afterwards you know every option. This page is made of
`--help`.*

[Commands](../cli.md) is the overview.
[Video to a group](../../how-to/video/video-to-a-group.md) has examples.
";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/options/video.md");
        pages::check_reference(Cli::command(), head, path.as_ref());
    }
}
