//! News of a bridge: counters of what has crossed, and reasons of what has not.

use std::fmt;

use crate::{
    WayCounts,
    group::{GroupError, GroupEvent, Losses},
};

use crate::nats::error::NatsError;

/// Counters of both ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NatsCounts {
    /// Messages of NATS, on their way to the group.
    pub to_group: WayCounts,
    /// Messages of the group, on their way to NATS.
    pub to_nats: WayCounts,
    /// Of those that NATS was given, acknowledged by the stream.
    pub acknowledged: u64,
    /// Attempts that were repeated.
    pub retried: u64,
    /// How often a server was found again.
    pub reconnects: u64,
}

impl NatsCounts {
    /// With what the member could not give the bridge.
    #[must_use]
    pub fn with_losses(self, losses: Losses) -> Self {
        Self { to_nats: self.to_nats.with_losses(losses), ..self }
    }
}

/// Why something did not cross.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// So many bytes are more than NATS takes in one message.
    TooLong(u64, u64),
    /// A subject is no topic's.
    NoTopic(String),
    /// The group does not take it.
    Group(GroupError),
    /// NATS does not take a message of this subject; why.
    Nats(String, String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(bytes, max) => write!(
                f,
                "message ({bytes} bytes): is longer than NATS takes ({max} bytes). Raise max_payload \
                 there"
            ),
            Self::NoTopic(subject) => {
                write!(f, "subject ({subject:?}): is no topic's, and does not cross")
            }
            Self::Group(error) => error.fmt(f),
            Self::Nats(subject, why) => {
                write!(f, "subject ({subject}): NATS does not take a message ({why})")
            }
        }
    }
}

/// What a bridge tells.
#[derive(Debug)]
pub enum BridgeEvent {
    /// An event of its member of the group, other than messages.
    Group(GroupEvent),
    /// Whether a server is there.
    Connected(bool),
    /// Something did not cross.
    Dropped(Refusal),
    /// The server refuses something for now.
    Trouble(String),
    /// It cannot go on.
    Ended(NatsError),
}
