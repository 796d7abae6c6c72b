//! What is said of gateways, those of `bridge group` and those of `node`.

use fanfare_command::json::{GatewayLine, Line, Way, WayLine};
use fanfare_node::{
    gateway::{Gateway, GatewayEvent, GatewayStats},
    group::GroupEvent,
    messaging::GroupIndex,
};

use super::{counter_pace::CounterPace, drop_notice::DropNotice};
use crate::bridge::metrics::CrossingMetrics;
use fanfare_command::{Output, units};

/// Tells what a gateway drops, and how far it is.
pub(crate) struct GatewayReporter {
    pace: CounterPace,
    notice: DropNotice,
    /// `--json` has the counters while they change.
    tells: bool,
    last: Option<GatewayLine>,
    metrics: CrossingMetrics,
}

impl GatewayReporter {
    /// `tells`: `--json` has the counters while they change.
    pub(crate) fn new(tells: bool, metrics: CrossingMetrics) -> Self {
        let (notice, last) = (DropNotice::default(), None);
        Self { pace: CounterPace::new(), notice, tells, last, metrics }
    }

    /// Looks at the counters, if they were not looked at just now.
    pub(crate) fn look(&mut self, line: impl FnOnce() -> GatewayLine, output: &Output) {
        let Some(now) = self.pace.look() else { return };
        let line = line();
        self.metrics.show(&line.ways);
        // What a group did not take is told of by itself.
        let dropped: u64 = line.ways.iter().map(|way| way.way.dropped).sum();
        let dropped = dropped.saturating_sub(line.refused);
        let new = self.notice.on_count(now, dropped);
        let most = line.ways.iter().max_by_key(|way| way.way.dropped);
        if let (Some(new), Some(WayLine { from, to, way })) = (new, most) {
            let Way { dropped, heard, waiting, .. } = way;
            let text = format!(
                "{new} messages were dropped on their way between groups. From {from} to {to}: {dropped} \
                 of {heard} so far; {waiting} wait. Raise the rate into {to}, or the queue"
            );
            output.warn("messages.dropped", text);
        }
        if self.last.as_ref() != Some(&line) && self.pace.tells() {
            if self.tells && output.is_json() {
                output.event(&Line::Gateway(line.clone()));
            }
            self.last = Some(line);
        }
    }
}

/// Counters of a gateway, between sides that are called so.
pub(crate) fn line(gateway: &Gateway, names: &[String], missed: u64) -> GatewayLine {
    let (groups, ways) = (names.to_vec(), ways(gateway, names));
    GatewayLine { groups, refused: gateway.refused(), missed, ways }
}

/// Messages that were gone from a group before the gateway could take them.
pub(crate) fn missed(event: &GatewayEvent) -> u64 {
    match event {
        GatewayEvent::Group(_, GroupEvent::Dropped(gap)) => gap.messages,
        GatewayEvent::Group(_, GroupEvent::Lost { .. }) => 1,
        _ => 0,
    }
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
            heard: all.heard + one.heard,
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
        "{name}: {} messages heard, {} ({}) carried, {} left to other gateways, {} carried twice; {} expired, {} \
         replaced, {} dropped, {} waited at the end",
        way.heard,
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
