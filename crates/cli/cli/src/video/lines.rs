//! The lines of `--json`.

use serde::Serialize;

/// A line.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    /// It runs: a sender in its group, or a server at its address.
    Start {
        group: String,
        node_id: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        address: Option<String>,
        at_ms: u64,
    },
    /// A stream is known.
    Stream { name: &'a str, renditions: Vec<&'a str>, at_ms: u64 },
    /// A segment was sent, or has come. `took_ms`: from its first packet to its last.
    Segment {
        name: &'a str,
        rendition: &'a str,
        number: u32,
        bytes: u64,
        begun_ms: u64,
        at_ms: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        took_ms: Option<u64>,
    },
    /// Another rendition is chosen.
    Chosen {
        name: &'a str,
        rendition: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        carries_bps: Option<u64>,
        at_ms: u64,
    },
    /// The source has ended.
    Ended { name: &'a str, segments: u32 },
}

/// Milliseconds since 1970 by this machine's clock.
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
