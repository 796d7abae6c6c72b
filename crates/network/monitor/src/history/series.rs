//! The numbers of a document that are worth keeping, each with a name.

use std::collections::BTreeMap;

use serde_json::Value;

/// Series of one document; more are left out.
pub(super) const SERIES_MAX: usize = 1024;
/// A name is no longer: it may have come by the network.
const NAME_MAX: usize = 120;

const OF_NODES: [&str; 8] =
    ["processor", "memory", "battery", "sent_bps", "received_bps", "loss", "rtt", "age"];
const OF_LINKS: [&str; 5] = ["capacity_bps", "in_bps", "out_bps", "used", "drops"];
const OF_PATHS: [&str; 4] = ["bps", "rtt", "lost_before", "lost_after"];
const OF_RECEIVERS: [&str; 4] = ["bytes", "rate_bps", "loss", "rtt"];
const OF_ALL: [&str; 8] =
    ["up", "silent", "sent_bps", "bytes_sent", "repairs", "done_bytes", "pace_bps", "loss"];

/// All numbers: `node/NAME/loss`, `link/north/eth0/used`, `path/north/FROM/TO/rtt`, `all/up`.
#[must_use]
pub fn series(document: &Value) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    take(&mut found, "all", document, &OF_ALL);
    let alerts = document["alerts"].as_object().map_or(0, serde_json::Map::len);
    found.insert("all/alerts".to_owned(), alerts as f64);
    for (field, word, of) in
        [("nodes", "node", &OF_NODES[..]), ("receivers", "receiver", &OF_RECEIVERS)]
    {
        for (id, one) in document[field].as_object().into_iter().flatten() {
            let name = one["label"].as_str().unwrap_or(id);
            take(&mut found, &format!("{word}/{name}"), one, of);
        }
    }
    for (name, link) in document["links"].as_object().into_iter().flatten() {
        take(&mut found, &format!("link/{name}"), link, &OF_LINKS);
    }
    for (link, advice) in document["advice"].as_object().into_iter().flatten() {
        take(&mut found, &format!("advice/{link}"), advice, &["ceiling_bps"]);
    }
    for (sensor, report) in document["sensors"].as_object().into_iter().flatten() {
        for path in report["packets"]["paths"].as_array().into_iter().flatten() {
            let end = |field: &str| path[field].as_str().unwrap_or_default();
            let name = format!("path/{sensor}/{}/{}", end("from"), end("to"));
            take(&mut found, &name, path, &OF_PATHS);
        }
    }
    found
}

fn take(found: &mut BTreeMap<String, f64>, name: &str, one: &Value, fields: &[&str]) {
    for field in fields {
        let value = one[field].as_f64().filter(|value| value.is_finite());
        let full = format!("{name}/{field}");
        if let Some(value) = value
            && full.len() <= NAME_MAX
            && found.len() < SERIES_MAX
        {
            found.insert(full.replace(char::is_control, "?"), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_named_by_what_they_are_of_and_nothing_else_is_kept() {
        let document = json!({
            "up": 2, "kind": "group", "alerts": {"a": {}},
            "nodes": {"7": {"label": "base\n", "loss": 0.5, "state": "up"}},
            "links": {"north/eth0": {"used": 0.9}},
            "sensors": {"north": {"packets": {"paths": [{"from": "a", "to": "b", "rtt": 0.1}]}}},
        });
        let expected = [
            ("all/alerts", 1.0),
            ("all/up", 2.0),
            ("link/north/eth0/used", 0.9),
            ("node/base?/loss", 0.5),
            ("path/north/a/b/rtt", 0.1),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(series(&document), BTreeMap::from(expected));
    }

    #[test]
    fn a_document_of_any_size_gives_so_many_and_no_more() {
        let node =
            |id: u32| (id.to_string(), json!({"label": id.to_string(), "loss": 0.1, "age": 1}));
        let nodes: serde_json::Map<String, Value> = (0..5000).map(node).collect();
        assert_eq!(series(&json!({"nodes": nodes})).len(), SERIES_MAX);
    }
}
