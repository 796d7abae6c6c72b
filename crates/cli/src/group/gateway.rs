//! What is said of gateways, those of `bridge group` and those of `node`.

use fanfare_json::{Way, WayLine};
use fanfare_node::{
    gateway::{Gateway, GatewayStats},
    messaging::GroupIndex,
};

use fanfare_command::{Output, units};

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
