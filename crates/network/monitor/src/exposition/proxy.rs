//! What a link or a proxy tells of itself, as metrics.

use serde_json::Value;

use super::page::Page;

/// Links that have lines.
const LINKS_MAX: usize = 256;

pub(super) fn lines(document: &Value, page: &mut Page) {
    let proxy = &document["proxy"];
    let Some(links) = proxy["links"].as_array() else { return };
    let links = &links[..links.len().min(LINKS_MAX)];
    page.family("peer_connected", "gauge", "1 for a link that stands, 0 for one that does not.");
    for link in links {
        let up = u8::from(link["connected"] == true);
        page.line("peer_connected", &[("peer", peer(link))], up);
    }
    for (metric, kind, field, help) in [
        ("peer_sent_bytes_total", "counter", "bytes_sent", "Bytes that a link sent."),
        ("peer_received_bytes_total", "counter", "bytes_received", "Bytes that it received."),
        ("peer_packets_total", "counter", "packets_sent", "Packets that a link sent."),
        ("peer_packets_lost_total", "counter", "packets_lost", "Those of them that were lost."),
        ("peer_messages_waiting", "gauge", "messages_waiting", "Messages that wait."),
    ] {
        page.family(metric, kind, help);
        for link in links.iter().filter(|link| link[field].is_number()) {
            page.line(metric, &[("peer", peer(link))], &link[field]);
        }
    }
    page.family("peer_rtt_seconds", "gauge", "Round trip of a link.");
    for link in links {
        if let Some(millis) = link["rtt_ms"].as_f64() {
            page.line("peer_rtt_seconds", &[("peer", peer(link))], millis / 1000.0);
        }
    }
    page.one("proxy_connections", "gauge", "TCP connections that are open.", &proxy["connections"]);
    let norm = proxy["norm"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (metric, kind, field, help) in [
        ("proxy_rate_bits_per_second", "gauge", "rate", "The sending rate of a NORM session."),
        ("proxy_messages_total", "counter", "messages", "Messages of a NORM session."),
        ("proxy_repairs_total", "counter", "messages_repair", "Repairs among them."),
    ] {
        page.family(metric, kind, help);
        for one in norm.iter().take(LINKS_MAX).filter(|one| one[field].is_number()) {
            page.line(metric, &[("peer", peer(one))], &one[field]);
        }
    }
}

fn peer(one: &Value) -> &str {
    one["peer"].as_str().unwrap_or_default()
}
