//! Counters of bridges and gateways, as metrics.

use serde_json::Value;

use super::page::Page;

/// Ways that have lines: those between sixteen groups.
const WAYS_MAX: usize = 240;
/// Fates of messages. One of each is counted once.
const FATES: [&str; 9] = [
    "carried",
    "duplicates",
    "left",
    "expired",
    "replaced",
    "dropped",
    "refused",
    "too_far",
    "missed",
];

pub(super) fn lines(document: &Value, page: &mut Page) {
    let Some(ways) = document["ways"].as_array() else { return };
    let ways = &ways[..ways.len().min(WAYS_MAX)];
    page.family("bridge_heard_total", "counter", "Messages that came for the other side.");
    one_each(ways, "bridge_heard_total", "heard", page);
    page.family("bridge_messages_total", "counter", "What has become of them.");
    for way in ways {
        for fate in FATES.iter().filter(|fate| way[**fate].is_number()) {
            let [from, to] = ends(way);
            let labels = [("from", from), ("to", to), ("fate", *fate)];
            page.line("bridge_messages_total", &labels, &way[*fate]);
        }
    }
    page.family("bridge_waiting", "gauge", "Messages that wait.");
    one_each(ways, "bridge_waiting", "waiting", page);
}

fn one_each(ways: &[Value], name: &str, field: &str, page: &mut Page) {
    for way in ways.iter().filter(|way| way[field].is_number()) {
        let [from, to] = ends(way);
        page.line(name, &[("from", from), ("to", to)], &way[field]);
    }
}

fn ends(way: &Value) -> [&str; 2] {
    ["from", "to"].map(|end| way[end].as_str().unwrap_or_default())
}
