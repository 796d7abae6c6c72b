//! How each end sends to the other, and how that goes.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use fanfare_command::{Failure, units};
use fanfare_link::proxy::{CongestionControl, Peering, Sending, WARM_UP};
use serde_json::{Value, json};

/// How connections are sent to the other side.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rate")]
pub(super) struct SendingArgs {
    /// Congestion control of what this side sends
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Control::Auto, hide_short_help = true)]
    cc: Control,
    /// Send at most this rate, for all connections together
    #[arg(long, value_name = "RATE", default_value = "1G", hide_short_help = true)]
    limit: String,
    /// Let a new link learn its rate by so many KiB that carry nothing; 0: by what is sent
    #[arg(long, value_name = "KIB", default_value_t = WARM_UP / 1024, hide_short_help = true, value_parser = clap::value_parser!(u64).range(0..=65_536))]
    warm_up: u64,
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
    pub(super) fn sending(&self) -> Result<Sending, Failure> {
        let control = match self.cc {
            Control::Auto => CongestionControl::Auto,
            Control::Ecn => CongestionControl::Ecn,
            Control::LossTolerant => CongestionControl::LossTolerant,
            Control::Norm => CongestionControl::Norm,
            Control::Fixed => CongestionControl::Fixed,
        };
        Ok(Sending { control, limit: units::rate(&self.limit)?, warm_up: self.warm_up * 1024 })
    }
}

/// How the sessions of all peers are.
pub(super) fn peerings_status(peerings: &[Arc<Peering>]) -> Value {
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
