//! `fanfare bridge`: between a group and another, or what is not Fanfare.
//!
//! - `group`: another group; `udp`: plain UDP multicast; `nats`: NATS, `nats_login`: how to come in there
//! - `queue`, `metrics`, `times`: what they share

mod group;
pub(crate) mod metrics;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "nats")]
mod nats_login;
#[cfg(not(feature = "nats"))]
mod nats_missing;
mod queue;
mod times;
mod udp;

use clap::{Args, Subcommand};

use fanfare_command::{Exit, Output};

/// Connect a group with another one, UDP multicast or NATS
#[derive(Debug, Args)]
pub(crate) struct BridgeArgs {
    #[command(subcommand)]
    command: BridgeCommand,
}

#[derive(Debug, Subcommand)]
enum BridgeCommand {
    Group(Box<group::GroupArgs>),
    Udp(Box<udp::UdpArgs>),
    #[cfg(feature = "nats")]
    Nats(Box<nats::NatsArgs>),
    #[cfg(not(feature = "nats"))]
    Nats(nats_missing::NatsArgs),
}

pub(crate) fn run(args: &BridgeArgs) -> Exit {
    let (output, result) = match &args.command {
        BridgeCommand::Group(args) => {
            let output = Output::new(args.output);
            let result = group::bridge(args, &output);
            (output, result)
        }
        BridgeCommand::Udp(args) => {
            let output = Output::new(args.output);
            let result = udp::bridge(args, &output);
            (output, result)
        }
        BridgeCommand::Nats(args) => {
            #[cfg(feature = "nats")]
            let bridge = nats::bridge;
            #[cfg(not(feature = "nats"))]
            let bridge = nats_missing::bridge;
            let output = Output::new(args.output);
            let result = bridge(args, &output);
            (output, result)
        }
    };
    result.unwrap_or_else(|failure| fanfare_command::give_up(&output, &failure))
}
