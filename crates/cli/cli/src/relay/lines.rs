//! Lines of `--json`, and the same for people.

use std::net::SocketAddr;

use fanfare_relay::{Counts, Event, Side};
use serde::Serialize;

/// A line that begins with its event.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Line {
    /// A relay's groups are joined.
    Relaying { id: u32, groups: Vec<String>, peers: Vec<String> },
    /// A sender is passed on.
    Source { sender: u32, side: String, address: SocketAddr },
    /// Another relay serves this side.
    StandBy { sender: u32, side: String, address: SocketAddr },
    /// A sender's messages come back.
    Loop { sender: u32, address: SocketAddr },
    /// A stranger.
    Refused { address: SocketAddr },
    /// A relay of other groups.
    Apart { address: SocketAddr },
    /// How it is.
    Relayed(Totals),
}

/// What was done so far.
#[derive(Debug, Serialize)]
pub(crate) struct Totals {
    forwarded: u64,
    left_out: u64,
    repaired: u64,
    requests: u64,
    requests_passed_on: u64,
    feedback: u64,
    dropped: u64,
    elsewhere: u64,
    cached: usize,
}

impl Line {
    pub(crate) fn of(event: &Event) -> Self {
        match *event {
            Event::Source { sender, side, address } => {
                Self::Source { sender, side: name(side), address }
            }
            Event::StandBy { sender, side, address } => {
                Self::StandBy { sender, side: name(side), address }
            }
            Event::Loop { sender, address } => Self::Loop { sender, address },
            Event::Refused(address) => Self::Refused { address },
            Event::Apart(address) => Self::Apart { address },
        }
    }

    pub(crate) fn totals(counts: Counts, cached: usize) -> Self {
        Self::Relayed(Totals {
            forwarded: counts.forwarded,
            left_out: counts.left_out,
            repaired: counts.repaired,
            requests: counts.requests.0,
            requests_passed_on: counts.requests.1,
            feedback: counts.feedback,
            dropped: counts.dropped,
            elsewhere: counts.elsewhere,
            cached,
        })
    }
}

fn name(side: Side) -> String {
    match side {
        Side::Group(number) => format!("group {number}"),
        Side::Peer(number) => format!("peer {number}"),
        Side::Single => "unicast".to_owned(),
    }
}

/// For people.
pub(crate) fn text(event: &Event) -> String {
    match *event {
        Event::Source { sender, side, address } => {
            format!("sender {sender} at {address} is passed on; it is heard by {}", name(side))
        }
        Event::StandBy { sender, side, address } => {
            format!("standing by: {address} passes sender {sender} on to {} already", name(side))
        }
        Event::Loop { sender, address } => format!(
            "warning: what sender {sender} sends comes back from {address}, and is dropped there: the \
             relays are joined in a ring"
        ),
        Event::Apart(address) => format!(
            "warning: relay {address} has joined none of the groups of this one: nothing is passed on \
             between them. Give both the same --join"
        ),
        Event::Refused(address) => format!(
            "warning: {address} sends to this relay and may not. Add --accept {} or --peer {}",
            address.ip(),
            address.ip()
        ),
    }
}
