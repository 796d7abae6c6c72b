//! `fanfare bridge`: between a group and what is not Fanfare.
//!
//! - `udp`: plain UDP multicast; `nats`: NATS, `nats_login`: how to come in there

mod nats;
mod nats_login;
mod udp;

use clap::{Args, Subcommand};

use crate::{exit::Exit, progress::Output};

/// Join a group with what is not Fanfare
#[derive(Debug, Args)]
pub(crate) struct BridgeArgs {
    #[command(subcommand)]
    command: BridgeCommand,
}

#[derive(Debug, Subcommand)]
enum BridgeCommand {
    Udp(Box<udp::UdpArgs>),
    Nats(Box<nats::NatsArgs>),
}

pub(crate) fn run(args: &BridgeArgs) -> Exit {
    let (output, result) = match &args.command {
        BridgeCommand::Udp(args) => {
            let output = Output::new(args.output);
            let result = udp::bridge(args, &output);
            (output, result)
        }
        BridgeCommand::Nats(args) => {
            let output = Output::new(args.output);
            let result = nats::bridge(args, &output);
            (output, result)
        }
    };
    result.unwrap_or_else(|failure| crate::give_up(&output, &failure))
}
