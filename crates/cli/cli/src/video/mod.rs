//! `fanfare video`: video to a group, and a server for players at each node.
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

use clap::{Args, Subcommand};
use exits::EXITS;
use fanfare_command::{Exit, Help};

const HELP: Help = Help::new(&[
    ("fanfare video send test --name gate", "bars, a running number and a tone"),
    ("fanfare video send film.mp4 --renditions 64k,400k,1500k", "a file, as if it were live"),
    ("fanfare video serve", "then open http://127.0.0.1:8080/"),
]);

/// Video to a group, and a server for players
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct VideoArgs {
    #[command(subcommand)]
    command: VideoCommand,
}

#[derive(Debug, Subcommand)]
enum VideoCommand {
    Send(Box<send::SendArgs>),
    Serve(Box<serve::ServeArgs>),
}

pub(crate) fn run(args: &VideoArgs) -> Exit {
    match &args.command {
        VideoCommand::Send(args) => send::run(args),
        VideoCommand::Serve(args) => serve::run(args),
    }
}
