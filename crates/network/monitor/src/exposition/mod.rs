//! The document as metrics, in the text format of Prometheus.
//!
//! - `sensors`: what sensors told; `proxy`: links and proxies; `crossing`: bridges; `page`: lines

use serde_json::{Value, json};

mod crossing;
mod page;
mod proxy;
mod sensors;

use page::Page;

/// Lines about each receiver are written for so many: a store keeps a series for each.
const RECEIVERS_MAX: usize = 256;

/// All metrics of a document.
pub(crate) fn text(document: &Value) -> String {
    let mut page = Page::default();
    let version = document["version"].as_str().unwrap_or_default();
    let kind = document["kind"].as_str().unwrap_or_default();
    page.family("build_info", "gauge", "Which program this is.");
    page.line("build_info", &[("version", version), ("kind", kind)], 1);
    transfer(document, &mut page);
    alerts(document, &mut page);
    receivers(document, &mut page);
    nodes(document, &mut page);
    sensors::lines(document, &mut page);
    proxy::lines(document, &mut page);
    crossing::lines(document, &mut page);
    page.text
}

/// Whether there is something to worry about, for probes.
pub(crate) fn health(document: &Value) -> String {
    let alerts = document["alerts"].as_object().map_or(0, serde_json::Map::len);
    json!({"phase": document["phase"], "alerts": alerts}).to_string()
}

fn transfer(document: &Value, page: &mut Page) {
    let sending = &document["sending"];
    page.one("transfer_size_bytes", "gauge", "Bytes of all files.", &document["total_bytes"]);
    page.one(
        "transfer_done_bytes",
        "gauge",
        "Bytes of files sent once, or received.",
        &document["done_bytes"],
    );
    page.one(
        "wire_bytes_total",
        "counter",
        "Bytes sent, without headers of UDP and below.",
        &sending["wire_bytes"],
    );
    page.one("repair_bytes_total", "counter", "Bytes of repair sent.", &sending["repair_bytes"]);
    page.one("rate_bits_per_second", "gauge", "The sending rate in force.", &sending["rate_bps"]);
    page.one(
        "goodput_bits_per_second",
        "gauge",
        "How fast files get further.",
        &document["pace_bps"],
    );
    page.one("loss_ratio", "gauge", "Loss that this receiver sees.", &document["loss"]);
    page.one("receivers", "gauge", "Receivers heard.", &sending["heard"]);
    page.one(
        "receivers_complete",
        "gauge",
        "Receivers that have everything.",
        &sending["complete"],
    );
    if let Some(limit) = sending["limit"].as_str() {
        page.family("rate_limit_reason", "gauge", "1 for what limits the rate now.");
        page.line("rate_limit_reason", &[("reason", limit)], 1);
    }
}

fn alerts(document: &Value, page: &mut Page) {
    let each = || document["alerts"].as_object().into_iter().flatten().map(|(_, alert)| alert);
    page.family("alerts_active", "gauge", "Alerts that hold now, by cause.");
    let mut causes: Vec<&str> = each().filter_map(|alert| alert["cause"].as_str()).collect();
    causes.sort_unstable();
    for group in causes.chunk_by(|a, b| a == b) {
        page.line("alerts_active", &[("cause", group[0])], group.len());
    }
    page.family("alerts_total", "counter", "Alerts since the start, by cause.");
    for (cause, count) in document["alerts_raised"].as_object().into_iter().flatten() {
        page.line("alerts_total", &[("cause", cause)], count);
    }
}

fn receivers(document: &Value, page: &mut Page) {
    let each = || document["receivers"].as_object().into_iter().flatten().take(RECEIVERS_MAX);
    let fields = [
        ("receiver_bytes", "bytes", "Bytes that a receiver has."),
        ("receiver_rate_bits_per_second", "rate_bps", "How fast that grows."),
        ("receiver_loss_ratio", "loss", "Loss on the path to a receiver."),
        ("receiver_rtt_seconds", "rtt", "Round trip to a receiver."),
        ("receiver_overruns", "overruns", "How often a receiver's buffer ran over."),
    ];
    for (name, field, help) in fields {
        if each().any(|(_, one)| one[field].is_number()) {
            page.family(name, "gauge", help);
        }
        for (id, one) in each().filter(|(_, one)| one[field].is_number()) {
            let label = one["label"].as_str().unwrap_or_default();
            page.line(name, &[("receiver", label), ("id", id)], &one[field]);
        }
    }
}

fn dropped(document: &Value, page: &mut Page) {
    let Some(counts) = document["dropped"].as_object() else { return };
    let help = "What programs and gateways of this node were not given.";
    page.family("group_dropped_total", "counter", help);
    for (what, count) in counts {
        page.line("group_dropped_total", &[("what", what)], count);
    }
}

fn nodes(document: &Value, page: &mut Page) {
    let monitor = &document["monitor"];
    page.one("nodes_up", "gauge", "Nodes of the group that are heard.", &document["up"]);
    page.one("nodes_silent", "gauge", "Nodes that are not heard any more.", &document["silent"]);
    page.one("group_bits_per_second", "gauge", "What all nodes send.", &document["sent_bps"]);
    page.one("group_repairs_total", "counter", "Repairs for others.", &document["repairs"]);
    dropped(document, page);
    page.one(
        "monitor_sent_bytes_total",
        "counter",
        "Bytes of notes of this node, with headers.",
        &monitor["bytes_sent"],
    );
    page.one(
        "monitor_allowed_bits_per_second",
        "gauge",
        "What the notes of all nodes may take.",
        &monitor["allowed_bps"],
    );
    up(document, page);
    let each = || document["nodes"].as_object().into_iter().flatten().take(RECEIVERS_MAX);
    let fields = [
        ("host_cpu_ratio", "processor", "The busy share of a node's processors."),
        ("host_memory_ratio", "memory", "The used share of a node's memory."),
        ("host_battery_ratio", "battery", "What is left in a node's battery."),
        ("node_sent_bits_per_second", "sent_bps", "What a node sends."),
        ("node_loss_ratio", "loss", "What a node loses of what others send."),
        ("monitor_sector_age_seconds", "age", "How old what is known of a node is."),
    ];
    for (name, field, help) in fields {
        if each().any(|(_, one)| one[field].is_number()) {
            page.family(name, "gauge", help);
        }
        for (id, one) in each().filter(|(_, one)| one[field].is_number()) {
            let label = one["label"].as_str().unwrap_or_default();
            page.line(name, &[("node", label), ("id", id)], &one[field]);
        }
    }
}

/// 1 for each node that is heard, and 0 for one that was.
fn up(document: &Value, page: &mut Page) {
    let each = || document["nodes"].as_object().into_iter().flatten().take(RECEIVERS_MAX);
    if each().next().is_some() {
        page.family("node_up", "gauge", "1 for a node that is heard, 0 for one that was.");
    }
    for (id, one) in each() {
        let label = one["label"].as_str().unwrap_or_default();
        page.line("node_up", &[("node", label), ("id", id)], u8::from(one["state"] != "silent"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_lines_and_names_cannot_break_them() {
        let document = json!({
            "version": "1", "kind": "send", "total_bytes": 10,
            "sending": {"rate_bps": 5, "limit": "loss"},
            "alerts": {"a": {"cause": "lossy-path"}, "b": {"cause": "lossy-path"}},
            "alerts_raised": {"lossy-path": 3},
            "receivers": {"7": {"label": "a\"}\n\\b", "loss": 0.5}},
        });
        let text = text(&document);
        for line in [
            "fanfare_build_info{version=\"1\",kind=\"send\"} 1",
            "fanfare_transfer_size_bytes 10",
            "fanfare_rate_bits_per_second 5",
            "fanfare_rate_limit_reason{reason=\"loss\"} 1",
            "fanfare_alerts_active{cause=\"lossy-path\"} 2",
            "fanfare_alerts_total{cause=\"lossy-path\"} 3",
            "fanfare_receiver_loss_ratio{receiver=\"a\\\"}\\n\\\\b\",id=\"7\"} 0.5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(text.lines().all(|line| line.starts_with('#') || line.starts_with("fanfare_")));
    }

    #[test]
    fn what_is_not_known_has_no_line() {
        let text = text(&json!({"version": "1", "kind": "recv"}));
        assert!(!text.contains("rate") && !text.contains("receiver"), "{text}");
    }

    #[test]
    fn links_and_sessions_of_a_proxy_become_lines() {
        let link = json!({"peer": "base", "connected": true, "rtt_ms": 40.0, "bytes_sent": 9});
        let norm = json!({"peer": "base", "rate": 1000, "messages_repair": 2});
        let proxy = json!({"links": [link], "norm": [norm], "connections": 3});
        let text = text(&json!({"kind": "proxy", "version": "1", "proxy": proxy}));
        for line in [
            "fanfare_build_info{version=\"1\",kind=\"proxy\"} 1",
            "fanfare_peer_connected{peer=\"base\"} 1",
            "fanfare_peer_rtt_seconds{peer=\"base\"} 0.04",
            "fanfare_peer_sent_bytes_total{peer=\"base\"} 9",
            "fanfare_proxy_rate_bits_per_second{peer=\"base\"} 1000",
            "fanfare_proxy_repairs_total{peer=\"base\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn what_sensors_tell_and_what_was_dropped_becomes_lines() {
        let path = json!({
            "from": "10.0.0.1", "to": "10.0.0.2", "rtt": 0.02, "rtt_base": 0.01,
            "classes": {"norm": 5}, "lost_after": 3,
        });
        let document = json!({
            "sensors": {"north": {"packets": {"seen": 7, "dropped": 1, "paths": [path]}}},
            "links": {"north/eth0": {"used": 0.5, "capacity_bps": 100}},
            "advice": {"north/eth0": {"ceiling_bps": 85}}, "adapt": "advise", "advice_given": 2,
            "nodes": {"7": {"label": "a", "state": "silent"}},
            "dropped": {"unread": 3, "events": 0},
            "ways": [{"from": "a", "to": "b", "carried": 4, "dropped": 2}],
        });
        let text = text(&document);
        for line in [
            "fanfare_node_up{node=\"a\",id=\"7\"} 0",
            "fanfare_group_dropped_total{what=\"unread\"} 3",
            "fanfare_bridge_messages_total{from=\"a\",to=\"b\",fate=\"dropped\"} 2",
            "fanfare_sensor_up{sensor=\"north\"} 1",
            "fanfare_sensor_ring_drops_total{sensor=\"north\"} 1",
            "fanfare_link_used_ratio{link=\"north/eth0\"} 0.5",
            "fanfare_rtt_seconds{sensor=\"north\",from=\"10.0.0.1\",to=\"10.0.0.2\",kind=\"base\"} 0.01",
            "fanfare_traffic_bytes_total{sensor=\"north\",from=\"10.0.0.1\",to=\"10.0.0.2\",class=\"norm\"} 5",
            "fanfare_retransmitted_total{sensor=\"north\",from=\"10.0.0.1\",to=\"10.0.0.2\",lost=\"after\"} 3",
            "fanfare_advice_total{knob=\"rate\",mode=\"advise\"} 2",
            "fanfare_advice_ceiling_bits_per_second{link=\"north/eth0\"} 85",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
