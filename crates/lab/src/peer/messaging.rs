//! Systems that carry messages between many nodes, as programs on the hosts of a lab.
//!
//! Each host runs a program that takes "topic, text" and prints the texts that arrive. For Fanfare
//! that is `fanfare node` and its socket, for the others a small program over the system's own
//! library (under peers/). NATS and MQTT also need their server, on the first host.
//!
//! - `software`: what each can do. `client`: one started program; `fanfare`, `nats`, `mqtt`, `zeromq`: the systems; `norm`:
//!   messages of one sender over libnorm

pub(crate) mod client;
pub(crate) mod fanfare;
mod mqtt;
mod nats;
pub(crate) mod norm;
mod software;
mod zeromq;

use super::{Tools, program::Program};
use crate::{error::LabError, name};
use software::{Client, give_up_soon, server, station};
pub(crate) use software::{HostSlot, MessagingSoftware};
use std::{fmt, str::FromStr};

/// What carries messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessagingSystem {
    /// This program: `fanfare node` on each host.
    Fanfare,
    /// NATS with a stream of JetStream, its server on the first host.
    Nats,
    /// MQTT with quality of service 1 (mosquitto), its server on the first host.
    Mqtt,
    /// ZeroMQ's PUB and SUB over NORM.
    ZeroMq,
}

impl MessagingSystem {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Fanfare, Self::Nats, Self::Mqtt, Self::ZeroMq];

    /// Its name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fanfare => "fanfare",
            Self::Nats => "nats",
            Self::Mqtt => "mqtt",
            Self::ZeroMq => "zeromq-norm",
        }
    }

    /// Finds or compiles it.
    ///
    /// # Errors
    /// Which package is missing.
    pub(crate) fn prepare(self, tools: &Tools) -> Result<Box<dyn MessagingSoftware>, LabError> {
        match self {
            Self::Fanfare => fanfare::prepare(tools),
            Self::Nats => nats::prepare(tools),
            Self::Mqtt => mqtt::prepare(tools),
            Self::ZeroMq => zeromq::prepare(tools),
        }
    }
}

impl fmt::Display for MessagingSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for MessagingSystem {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        name::find(text, Self::ALL, Self::name, "carries no messages between many")
    }
}
