//! `fanfare proxy`: TCP over a link.

mod client;
mod password;
mod server;
mod telling;

use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use fanfare_command::{Exit, Failure, Help, units};
use fanfare_proxy::{CongestionControl, Peering, Rule, Sending};
use serde_json::{Value, json};

use crate::{
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
/// Programs speak SOCKS5 or HTTP CONNECT to the near side. The far side connects to what its rules
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
    Server(server::ServerArgs),
    /// Show how a daemon is
    #[command(after_help = STATUS.short(), after_long_help = STATUS.long())]
    Status(StatusArgs),
    Password(password::PasswordArgs),
}

pub(crate) fn run(args: &ProxyArgs) -> Exit {
    match &args.command {
        ProxyCommand::Client(args) => running::run(args.output, |output| client::run(args, output)),
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

/// How connections are sent to the other side.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rate")]
struct SendingArgs {
    /// Congestion control of what this side sends
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Control::Auto)]
    cc: Control,
    /// Send at most this rate, for all connections together
    #[arg(long, value_name = "RATE", default_value = "1G")]
    limit: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Control {
    /// By the queue on the path; loss alone does not count
    Auto,
    /// By routers' marks
    Ecn,
    /// As TCP, but for isolated losses
    LossTolerant,
    /// As TCP (NORM-CC)
    Norm,
    /// The rate of --limit, whatever happens
    Fixed,
}

impl SendingArgs {
    fn sending(&self) -> Result<Sending, Failure> {
        let control = match self.cc {
            Control::Auto => CongestionControl::Auto,
            Control::Ecn => CongestionControl::Ecn,
            Control::LossTolerant => CongestionControl::LossTolerant,
            Control::Norm => CongestionControl::Norm,
            Control::Fixed => CongestionControl::Fixed,
        };
        Ok(Sending { control, limit: units::rate(&self.limit)? })
    }
}

/// How the sessions of all peers are.
fn peerings_status(peerings: &[Arc<Peering>]) -> Value {
    let one = |peering: &Arc<Peering>| {
        let norm = peering.norm();
        json!({
            "peer": peering.link().name(),
            "rate": norm.rate,
            "rate_reason": norm.reason,
            "rtt_ms": norm.round_trip.as_secs_f64() * 1e3,
            "spans": norm.kept,
            "messages": norm.sent[0],
            "messages_source": norm.sent[1],
            "messages_parity": norm.sent[2],
            "messages_repair": norm.sent[3],
            "connections": norm.connections,
        })
    };
    peerings.iter().map(one).collect()
}

/// A rule, as an option gives it.
fn rule(option: &str, text: &str) -> Result<Rule, Failure> {
    text.parse().map_err(|why| Failure::usage("rule.invalid", format!("{option} ({text}): {why}")))
}

/// Ten thousand connections need as many descriptors: the soft limit becomes the hard one.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // With what it has it works, too, with fewer connections.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
