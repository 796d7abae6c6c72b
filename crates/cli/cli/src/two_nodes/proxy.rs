//! `fanfare proxy`: TCP over a link.
//!
//! - `client`, `server`: its two ends; `limits`: what it needs of this machine, and lets through
//! - `gateway`: a near end for a whole network, with `kernel`: rules set and taken back
//! - `compat`: NRL's norp at the other end
//! - `ways`: which way connections go
//! - `sending`: how each end sends, and how that goes
//! - `password`: files of users; `telling`: what happens to connections

mod client;
mod compat;
mod gateway;
mod kernel;
mod limits;
mod password;
mod sending;
mod server;
mod telling;
mod ways;

use clap::{Args, Subcommand};
use fanfare_command::{Exit, Help};
use serde_json::Value;

use crate::two_nodes::{
    EXITS, lines, running,
    status::{self, StatusArgs},
};

const HELP: Help = Help::new(&[
    ("fanfare id", "this machine's KEY, for the other side"),
    ("fanfare proxy server --accept ship=KEY --allow any:443", "on the far side"),
    ("fanfare proxy client --peer base=198.51.100.7:7001,KEY", "on the near side"),
    ("curl --socks5-hostname 127.0.0.1:7000 https://example.org/", "a program there"),
])
.exits(EXITS)
.values();

const STATUS: Help = Help::new(&[
    ("fanfare proxy status --socket s", "of a daemon that was started with --socket s"),
    ("fanfare proxy status --socket s --json", "with all counters"),
])
.exits(&[(Exit::Done, "done"), (Exit::Failed, "no daemon answers")]);

/// Carry TCP connections over a link, past loss and delay
///
/// Programs speak SOCKS5 or HTTP to the near side. The far side connects to what its rules
/// allow.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct ProxyArgs {
    #[command(subcommand)]
    command: ProxyCommand,
}

#[derive(Debug, Subcommand)]
enum ProxyCommand {
    Client(client::ClientArgs),
    Gateway(gateway::GatewayArgs),
    Server(server::ServerArgs),
    /// Show how a daemon is
    #[command(after_help = STATUS.short(), after_long_help = STATUS.long())]
    Status(StatusArgs),
    Password(password::PasswordArgs),
}

pub(crate) fn run(args: &ProxyArgs) -> Exit {
    match &args.command {
        ProxyCommand::Client(args) => running::run(args.output, |output| client::run(args, output)),
        ProxyCommand::Gateway(args) => {
            running::run(args.output, |output| gateway::run(args, output))
        }
        ProxyCommand::Server(args) => running::run(args.output, |output| server::run(args, output)),
        ProxyCommand::Status(args) => status::run(args, describe),
        ProxyCommand::Password(args) => password::run(args),
    }
}

fn describe(answer: &Value) -> Vec<String> {
    let mut all: Vec<String> =
        answer["links"].as_array().into_iter().flatten().map(lines::status_text).collect();
    for norm in answer["norm"].as_array().into_iter().flatten() {
        all.push(format!(
            "{}: sends at {:.0} kbit/s ({}), {} connections by NORM",
            norm["peer"].as_str().unwrap_or("-"),
            norm["rate"].as_f64().unwrap_or(0.0) / 1e3,
            norm["rate_reason"].as_str().unwrap_or("-"),
            norm["connections"],
        ));
    }
    if let Some(connections) = answer["connections"].as_u64() {
        all.push(format!("connections: {connections} open, {} so far", answer["requests"]));
    }
    all
}
