//! Systems that carry messages between many nodes, as programs on the hosts of a lab.
//!
//! Each host runs a program that takes "topic, text" and prints the texts that arrive. For Fanfare
//! that is `fanfare node` and its socket, for the others a small program over the system's own
//! library (under peers/). NATS and MQTT also need their server, on the first host.
//!
//! - `software`: what each can do. `client`: one started program; `norm`: messages of one sender over
//!   libnorm; the others: the systems

pub(crate) mod client;
mod dds;
pub(crate) mod fanfare;
mod jgroups;
mod kafka;
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
pub(crate) use software::{HostSlot, MessagingSoftware, ServerSlot};
use std::{fmt, str::FromStr};

/// What carries messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessagingSystem {
    /// This program: `fanfare node` on each host.
    Fanfare,
    /// NATS with a stream of JetStream, its server on the first host.
    Nats,
    /// NATS alone, its server on the first host.
    NatsCore,
    /// MQTT with quality of service 1 (mosquitto), its server on the first host.
    Mqtt,
    /// MQTT with quality of service 0.
    MqttZero,
    /// MQTT with quality of service 2.
    MqttTwo,
    /// ZeroMQ's PUB and SUB over NORM.
    ZeroMq,
    /// The same over TCP, each to each.
    ZeroMqTcp,
    /// Redis' PUBLISH and PSUBSCRIBE, its server on the first host.
    RedisChannels,
    /// Redis' streams.
    RedisStreams,
    /// RabbitMQ with a topic exchange, its server on the first host.
    RabbitMq,
    /// Kafka, its broker on the first host.
    Kafka,
    /// DDS (Cyclone DDS).
    Dds,
    /// Zenoh, as peers.
    Zenoh,
    /// JGroups over UDP, by multicast.
    JGroupsUdp,
    /// JGroups over TCP, each to each.
    JGroupsTcp,
}

impl MessagingSystem {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 16] = [
        Self::Fanfare,
        Self::Nats,
        Self::NatsCore,
        Self::MqttZero,
        Self::Mqtt,
        Self::MqttTwo,
        Self::ZeroMq,
        Self::ZeroMqTcp,
        Self::RedisChannels,
        Self::RedisStreams,
        Self::RabbitMq,
        Self::Kafka,
        Self::Dds,
        Self::Zenoh,
        Self::JGroupsUdp,
        Self::JGroupsTcp,
    ];
    /// Those that `company` measures.
    pub const COMPANY: [Self; 4] = [Self::Fanfare, Self::Nats, Self::Mqtt, Self::ZeroMq];

    /// Its name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fanfare => "fanfare",
            Self::Nats => "nats",
            Self::NatsCore => "nats-core",
            Self::Mqtt => "mqtt",
            Self::MqttZero => "mqtt-0",
            Self::MqttTwo => "mqtt-2",
            Self::ZeroMq => "zeromq-norm",
            Self::ZeroMqTcp => "zeromq-tcp",
            Self::RedisChannels => "redis",
            Self::RedisStreams => "redis-streams",
            Self::RabbitMq => "rabbitmq",
            Self::Kafka => "kafka",
            Self::Dds => "cyclonedds",
            Self::Zenoh => "zenoh",
            Self::JGroupsUdp => "jgroups-udp",
            Self::JGroupsTcp => "jgroups-tcp",
        }
    }

    /// Whether all messages go through a program on the first host.
    #[must_use]
    pub fn has_broker(self) -> bool {
        match self {
            Self::Nats | Self::NatsCore | Self::Mqtt | Self::MqttZero | Self::MqttTwo => true,
            Self::RedisChannels | Self::RedisStreams | Self::RabbitMq | Self::Kafka => true,
            Self::Fanfare | Self::ZeroMq | Self::ZeroMqTcp | Self::Dds | Self::Zenoh => false,
            Self::JGroupsUdp | Self::JGroupsTcp => false,
        }
    }

    /// Finds or compiles it.
    ///
    /// # Errors
    /// Which package is missing.
    pub(crate) fn prepare(self, tools: &Tools) -> Result<Box<dyn MessagingSoftware>, LabError> {
        match self {
            Self::Fanfare => fanfare::prepare(tools),
            Self::Nats => nats::prepare(tools, true),
            Self::NatsCore => nats::prepare(tools, false),
            Self::Mqtt => mqtt::prepare(tools, 1),
            Self::MqttZero => mqtt::prepare(tools, 0),
            Self::MqttTwo => mqtt::prepare(tools, 2),
            Self::ZeroMq => zeromq::prepare(tools, zeromq::Carrier::Norm),
            Self::ZeroMqTcp => zeromq::prepare(tools, zeromq::Carrier::Tcp),
            Self::RedisChannels => redis::prepare(tools, redis::Kind::Channels),
            Self::RedisStreams => redis::prepare(tools, redis::Kind::Streams),
            Self::RabbitMq => rabbitmq::prepare(tools),
            Self::Kafka => kafka::prepare(tools),
            Self::Dds => dds::prepare(tools),
            Self::Zenoh => zenoh::prepare(),
            Self::JGroupsUdp => jgroups::prepare(tools, jgroups::Carrier::Udp),
            Self::JGroupsTcp => jgroups::prepare(tools, jgroups::Carrier::Tcp),
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
