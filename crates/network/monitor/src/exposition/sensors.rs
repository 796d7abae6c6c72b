//! What sensors told, as metrics.

use serde_json::Value;

use super::page::Page;

/// Pairs of addresses that have lines: a store keeps a series for each.
const PATHS_MAX: usize = 256;

pub(super) fn lines(document: &Value, page: &mut Page) {
    let Some(sensors) = document["sensors"].as_object() else { return };
    page.family("sensor_up", "gauge", "1 for a sensor that tells, 0 for one that is silent.");
    for (name, report) in sensors {
        page.line("sensor_up", &[("sensor", name)], u8::from(report["silent"] != true));
    }
    for (metric, field, help) in [
        ("sensor_packets_total", "seen", "Packets that a sensor saw."),
        ("sensor_bytes_total", "bytes", "Bytes of these, as on the line."),
        ("sensor_ring_drops_total", "dropped", "Packets for which a sensor had no room."),
    ] {
        page.family(metric, "counter", help);
        for (name, report) in sensors {
            let value = &report["packets"][field];
            if value.is_number() {
                page.line(metric, &[("sensor", name)], value);
            }
        }
    }
    links(document, page);
    paths(document, page);
    advice(document, page);
}

fn links(document: &Value, page: &mut Page) {
    let each = || document["links"].as_object().into_iter().flatten();
    for (metric, field, help) in [
        ("capacity_bits_per_second", "capacity_bps", "What a link carries."),
        ("link_in_bits_per_second", "in_bps", "What comes in over a link."),
        ("link_out_bits_per_second", "out_bps", "What goes out over a link."),
        ("link_used_ratio", "used", "The used share of a link's busier direction."),
    ] {
        page.family(metric, "gauge", help);
        for (link, one) in each().filter(|(_, one)| one[field].is_number()) {
            page.line(metric, &[("link", link)], &one[field]);
        }
    }
    page.family("link_drops_total", "counter", "Packets that a link dropped, with errors.");
    for (link, one) in each().filter(|(_, one)| one["drops"].is_number()) {
        page.line("link_drops_total", &[("link", link)], &one["drops"]);
    }
}

fn paths(document: &Value, page: &mut Page) {
    let sensors = || document["sensors"].as_object().into_iter().flatten();
    let all = sensors().flat_map(|(name, report)| {
        let paths = report["packets"]["paths"].as_array().into_iter().flatten();
        paths.map(move |path| (name, path))
    });
    let all: Vec<(&String, &Value)> = all.take(PATHS_MAX).collect();
    let ends = |path: &'_ Value| {
        let end = |field: &str| path[field].as_str().unwrap_or_default().to_owned();
        (end("from"), end("to"))
    };
    page.family("traffic_bytes_total", "counter", "Bytes from one address to another, by kind.");
    for (sensor, path) in &all {
        let (from, to) = ends(path);
        for (class, bytes) in path["classes"].as_object().into_iter().flatten() {
            let labels = [("sensor", &***sensor), ("from", &*from), ("to", &*to), ("class", class)];
            page.line("traffic_bytes_total", &labels, bytes);
        }
    }
    page.family("rtt_seconds", "gauge", "Round trip between two addresses.");
    for (sensor, path) in &all {
        let (from, to) = ends(path);
        for (kind, field) in [("now", "rtt"), ("base", "rtt_base")] {
            if path[field].is_number() {
                let labels =
                    [("sensor", &***sensor), ("from", &*from), ("to", &*to), ("kind", kind)];
                page.line("rtt_seconds", &labels, &path[field]);
            }
        }
    }
    page.family(
        "retransmitted_total",
        "counter",
        "TCP segments that came again, by where they were lost.",
    );
    for (sensor, path) in &all {
        let (from, to) = ends(path);
        for (lost, field) in [("before", "lost_before"), ("after", "lost_after")] {
            if path[field].is_number() {
                let labels =
                    [("sensor", &***sensor), ("from", &*from), ("to", &*to), ("lost", lost)];
                page.line("retransmitted_total", &labels, &path[field]);
            }
        }
    }
}

fn advice(document: &Value, page: &mut Page) {
    let mode = document["adapt"].as_str().unwrap_or("off");
    page.family("advice_total", "counter", "Ceilings that were given, raised or renewed.");
    page.line("advice_total", &[("knob", "rate"), ("mode", mode)], &document["advice_given"]);
    page.family("advice_ceiling_bits_per_second", "gauge", "The ceiling that is advised now.");
    for (link, advice) in document["advice"].as_object().into_iter().flatten() {
        let ceiling = &advice["ceiling_bps"];
        page.line("advice_ceiling_bits_per_second", &[("link", link)], ceiling);
    }
}
