//! How gateways are asked for, those of `bridge group` and those of `node`.

use std::time::Duration;

use crate::{Exit, Failure, units};
use fanfare_node::{QueueLimit, messaging::GatewayConfig};

/// How long to leave a message to another gateway, unless said otherwise.
pub const STANDBY: &str = "1s";
/// How long to learn what the groups have.
pub const LEARN: &str = "20s";
/// Most that goes each way.
pub const RATE: &str = "1M";

/// Most messages that wait each way.
pub const QUEUE: &str = "100000";
/// Most of their bytes.
pub const QUEUE_BYTES: &str = "64MiB";

/// Bounds of what may wait, understood; there is room for one message at least.
pub fn queue(messages: &str, bytes: &str) -> Result<QueueLimit, Failure> {
    let count = messages.parse().ok().filter(|count| *count > 0);
    let Some(messages) = count else {
        let text =
            format!("queue ({messages}): is no number of messages. Give 1 or more, as {QUEUE}");
        return Err(Failure::usage("queue.invalid", text));
    };
    Ok(QueueLimit { messages, bytes: units::bytes("queue bytes", bytes)? })
}

/// Its times, understood.
pub fn times(standby: &str, learn: &str) -> Result<GatewayConfig, Failure> {
    let wait = units::time("standby", standby)?;
    if wait == Duration::ZERO {
        let text = format!(
            "standby ({standby}): is no time, in which no other gateway can be heard. Give more than a \
             message takes through a group, as 1s"
        );
        return Err(Failure::usage("time.invalid", text));
    }
    let learning = units::time("learn", learn)?;
    Ok(GatewayConfig { standby: wait, learning, ..GatewayConfig::default() })
}

/// A life under a given id ends the one before it, and with that all that the gateway had brought is
/// forgotten: it would be brought again.
pub fn remembers(node_id: Option<&str>, is_durable: bool) -> Result<(), Failure> {
    let Some(id) = node_id.filter(|_| !is_durable) else { return Ok(()) };
    let text = format!(
        "node id ({id}): a gateway that begins again under its id is no longer known to have brought \
         what it has, and would bring all of it again. Give each of its groups a cache directory, or no \
         node id"
    );
    Err(Failure::new(Exit::Usage, "cache.missing", text))
}
