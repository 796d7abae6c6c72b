//! `fanfare bridge`: between a group and another, or what is not Fanfare.
//!
//! - `group`: another group; `udp`: plain UDP multicast; `nats`: NATS, `nats_login`: how to come in there

mod group;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "nats")]
mod nats_login;
#[cfg(not(feature = "nats"))]
mod nats_missing;
mod udp;

use std::time::Duration;

use clap::{Args, Subcommand};

use fanfare_command::{Exit, Failure, Output, units};

/// How often to look whether the member still lives; all else comes at once.
const POLL: Duration = Duration::from_millis(500);

/// Join a group with another, or with what is not Fanfare
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

/// What bridges that may meet others have in common.
#[derive(Debug, Args)]
struct Times {
    /// How long it is remembered what has crossed, so that it does not cross again
    #[arg(long, default_value = "5s", value_name = "TIME")]
    window: String,
    /// Where two bridges join the same: how long to leave a message to the other one first
    #[arg(long, default_value = "0s", value_name = "TIME")]
    standby: String,
}

impl Times {
    /// Window and standby.
    fn read(&self) -> Result<(Duration, Duration), Failure> {
        let (window, standby) =
            (units::time("window", &self.window)?, units::time("standby", &self.standby)?);
        if standby >= window {
            let text = format!(
                "standby ({}): is not below --window ({}): by then what others have carried is \
                 forgotten. Give less",
                self.standby, self.window
            );
            return Err(Failure::usage("time.invalid", text));
        }
        Ok((window, standby))
    }
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
