//! What gateways have in common, those of `bridge group` and those of `node`: how they are asked for, and
//! what is said of them.

use std::time::Duration;

use fanfare_json::{Way, WayLine};
use fanfare_node::{
    gateway::{Gateway, GatewayStats},
    messaging::{GatewayConfig, GroupIndex},
};

use fanfare_command::{Exit, Failure, Output, units};

/// How long to leave a message to another gateway, unless said otherwise.
pub(crate) const STANDBY: &str = "1s";
/// How long to learn what the groups have.
pub(crate) const LEARN: &str = "20s";
/// Most that goes each way.
pub(crate) const RATE: &str = "1M";

/// Its times, understood.
pub(crate) fn times(standby: &str, learn: &str) -> Result<GatewayConfig, Failure> {
    let wait = units::time("standby", standby)?;
    if wait == Duration::ZERO {
        let text = format!(
            "standby ({standby}): is no time, in which no other gateway can be heard. Give more than a \
             message takes through a group, as 1s"
        );
        return Err(Failure::usage("time.invalid", text));
    }
    Ok(GatewayConfig { standby: wait, learning: units::time("learn", learn)? })
}

/// A life under a given id ends the one before it, and with that all that the gateway had brought is
/// forgotten: it would be brought again.
pub(crate) fn remembers(node_id: Option<&str>, is_durable: bool) -> Result<(), Failure> {
    let Some(id) = node_id.filter(|_| !is_durable) else { return Ok(()) };
    let text = format!(
        "node id ({id}): a gateway that begins again under its id is no longer known to have brought \
         what it has, and would bring all of it again. Give each of its groups a cache directory, or no \
         node id"
    );
    Err(Failure::new(Exit::Usage, "cache.missing", text))
}

/// What came of all that crossed between sides that are called so.
pub(crate) fn ways(gateway: &Gateway, names: &[String]) -> Vec<WayLine> {
    let way = |from: usize, to: usize| {
        let stats = gateway.stats(GroupIndex(from as u8), GroupIndex(to as u8));
        WayLine { from: names[from].clone(), to: names[to].clone(), way: Way::from(stats) }
    };
    let sides = 0..names.len();
    let pairs = sides.clone().flat_map(|from| sides.clone().map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).map(|(from, to)| way(from, to)).collect()
}

/// All of several ways.
pub(crate) fn total(
    gateway: &Gateway,
    ways: impl Iterator<Item = (GroupIndex, GroupIndex)>,
) -> GatewayStats {
    ways.map(|(from, to)| gateway.stats(from, to)).fold(GatewayStats::default(), |all, one| {
        GatewayStats {
            carried: all.carried + one.carried,
            bytes: all.bytes + one.bytes,
            left: all.left + one.left,
            doubled: all.doubled + one.doubled,
            expired: all.expired + one.expired,
            replaced: all.replaced + one.replaced,
            dropped: all.dropped + one.dropped,
            too_far: all.too_far + one.too_far,
            forgotten: all.forgotten + one.forgotten,
            waiting: all.waiting + one.waiting,
        }
    })
}

/// What came of it, for people.
pub(crate) fn show(name: &str, way: &Way, output: &Output) {
    output.text(&format!(
        "{name}: {} messages ({}) carried, {} left to other gateways, {} carried twice; {} expired, {} \
         replaced, {} dropped, {} waited at the end",
        way.carried,
        units::size(way.bytes),
        way.left,
        way.doubled,
        way.expired,
        way.replaced,
        way.dropped + way.too_far,
        way.waiting,
    ));
}
