//! Systems that carry messages between many nodes, as programs on the hosts of a lab.
//!
//! Each host runs a program that takes "topic, text" and prints the texts that arrive. For Fanfare
//! that is `fanfare node` and its socket, for the others a small program over the system's own
//! library (under peers/). NATS and MQTT also need their server, on the first host.
//!
//! - `software`: what each can do. `client`: one started program; `fanfare`, `nats`, `mqtt`, `zeromq`: the systems; `norm`:
//!   messages of one sender over libnorm

pub(crate) mod client;
mod dds;
pub(crate) mod fanfare;
mod mqtt;
mod nats;
pub(crate) mod norm;
mod rabbitmq;
mod redis;
mod software;
mod zenoh;
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
    /// MQTT with quality of service 0.
    MqttZero,
    /// MQTT with quality of service 2.
    MqttTwo,
    /// ZeroMQ's PUB and SUB over NORM.
    ZeroMq,
    /// Redis' PUBLISH and PSUBSCRIBE, its server on the first host.
    RedisChannels,
    /// Redis' streams.
    RedisStreams,
    /// RabbitMQ with a topic exchange, its server on the first host.
    RabbitMq,
    /// DDS (Cyclone DDS).
    Dds,
    /// Zenoh, as peers.
    Zenoh,
}

impl MessagingSystem {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 11] = [
        Self::Fanfare,
        Self::Nats,
        Self::MqttZero,
        Self::Mqtt,
        Self::MqttTwo,
        Self::ZeroMq,
        Self::RedisChannels,
        Self::RedisStreams,
        Self::RabbitMq,
        Self::Dds,
        Self::Zenoh,
    ];
    /// Those that `company` measures.
    pub const COMPANY: [Self; 4] = [Self::Fanfare, Self::Nats, Self::Mqtt, Self::ZeroMq];

    /// Its name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fanfare => "fanfare",
            Self::Nats => "nats",
            Self::Mqtt => "mqtt",
            Self::MqttZero => "mqtt-0",
            Self::MqttTwo => "mqtt-2",
            Self::ZeroMq => "zeromq-norm",
            Self::RedisChannels => "redis",
            Self::RedisStreams => "redis-streams",
            Self::RabbitMq => "rabbitmq",
            Self::Dds => "cyclonedds",
            Self::Zenoh => "zenoh",
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
            Self::Mqtt => mqtt::prepare(tools, 1),
            Self::MqttZero => mqtt::prepare(tools, 0),
            Self::MqttTwo => mqtt::prepare(tools, 2),
            Self::ZeroMq => zeromq::prepare(tools),
            Self::RedisChannels => redis::prepare(tools, redis::Kind::Channels),
            Self::RedisStreams => redis::prepare(tools, redis::Kind::Streams),
            Self::RabbitMq => rabbitmq::prepare(tools),
            Self::Dds => dds::prepare(tools),
            Self::Zenoh => zenoh::prepare(),
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
