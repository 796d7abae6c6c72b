//! Lines of `--json`.

use std::net::SocketAddr;

use fanfare_link::{
    Class, Event, Link, Message,
    messages::counts::{CountTable, Counts},
    trains::Capacity,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A line that begins with its event.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Line {
    /// What a daemon begins with.
    Listening { what: &'static str, address: SocketAddr },
    /// A gateway begins to take connections, or lets the kernel forward them.
    Gateway { state: &'static str },
    /// Something has happened to a link.
    Link {
        peer: String,
        state: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        address: Option<SocketAddr>,
        #[serde(skip_serializing_if = "Option::is_none")]
        rtt_ms: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        resumed: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A message has come.
    Message {
        peer: String,
        number: u64,
        class: &'static str,
        tag: u64,
        size: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        hex: Option<String>,
    },
    /// A client asks for a connection.
    Open {
        id: u64,
        client: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        destination: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        peer: Option<String>,
        carrier: &'static str,
    },
    /// It was answered.
    Reply {
        id: u64,
        code: u8,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'static str>,
    },
    /// It is over.
    Close { id: u64, bytes_up: u64, bytes_down: u64, seconds: f64, how: &'static str },
    /// The link does not answer: a connection goes directly.
    Fallback { id: u64, peer: String },
    /// Something was refused before it was a request.
    Refused { client: String, reason: &'static str },
    /// Messages were sent; the last line but one of `link send`.
    Sent { acknowledged: u64, expired: u64, waiting: usize },
}

/// What has happened to a link.
pub(crate) fn of_link(peer: &str, event: &Event) -> Line {
    let (mut address, mut rtt_ms, mut resumed, mut reason) = (None, None, None, None);
    match event {
        Event::Connected { address: at, resumed: again, round_trip } => {
            address = Some(*at);
            resumed = Some(*again);
            rtt_ms = Some(round_trip.as_secs_f64() * 1e3);
        }
        Event::Moved { to, .. } => address = Some(*to),
        Event::Lost(why) | Event::Failed(why) | Event::Refused(why) => reason = Some(why.clone()),
        Event::Heard(after) => reason = Some(format!("after {:.1} s", after.as_secs_f64())),
        Event::Quiet | Event::Restarted | Event::Ended => {}
    }
    Line::Link { peer: peer.to_owned(), state: event.name(), address, rtt_ms, resumed, reason }
}

/// The same for people.
pub(crate) fn link_text(peer: &str, event: &Event) -> String {
    match event {
        Event::Connected { address, round_trip, .. } => {
            format!(
                "{peer}: connected to {address}, round trip {:.0} ms",
                round_trip.as_secs_f64() * 1e3
            )
        }
        Event::Quiet => format!("{peer}: nothing is heard"),
        Event::Heard(after) => format!("{peer}: heard again after {:.1} s", after.as_secs_f64()),
        Event::Moved { from, to } => format!("{peer}: moved from {from} to {to}"),
        Event::Lost(why) => format!("{peer}: the connection is lost ({why})"),
        Event::Failed(why) | Event::Refused(why) => format!("{peer}: no connection ({why})"),
        Event::Restarted => format!("{peer}: was started anew"),
        Event::Ended => format!("{peer}: given up; what waited is dropped"),
    }
}

/// A message, as text where it is some.
pub(crate) fn of_message(peer: &str, message: &Message) -> Line {
    let text = std::str::from_utf8(&message.bytes).ok().map(str::to_owned);
    let hex = text.is_none().then(|| message.bytes.iter().map(|b| format!("{b:02x}")).collect());
    Line::Message {
        peer: peer.to_owned(),
        number: message.number,
        class: message.class.name(),
        tag: message.tag,
        size: message.bytes.len(),
        text,
        hex,
    }
}

/// How a link is.
pub(crate) fn status(link: &Link) -> Value {
    let status = link.status();
    let [sent, received] = link.counts();
    json!({
        "peer": status.peer,
        "key": status.key.to_string(),
        "connected": status.connected,
        "quiet": status.quiet,
        "address": status.address.map(|address| address.to_string()),
        "connections": status.connections,
        "rtt_ms": status.round_trip.as_secs_f64() * 1e3,
        "mtu": status.mtu,
        "capacity_in": status.capacity_in.map(capacity),
        "capacity_out": status.capacity_out.map(capacity),
        "packets_sent": status.sent.0,
        "bytes_sent": status.sent.1,
        "packets_received": status.received.0,
        "bytes_received": status.received.1,
        "packets_lost": status.lost,
        "messages_waiting": status.waiting,
        "messages_sent": table(&sent),
        "messages_received": table(&received),
    })
}

/// The narrowest link, bit/s.
fn capacity(found: Capacity) -> Value {
    json!({
        "bps": found.bps,
        "lower_quartile": found.quartiles.0,
        "upper_quartile": found.quartiles.1,
        "trains": found.trains,
    })
}

fn table(table: &CountTable) -> Value {
    let mut all = Map::new();
    for class in Class::ALL {
        all.insert(class.name().to_owned(), counts(table.class(class)));
    }
    let tags = table.tags().iter().map(|(tag, of)| (tag.to_string(), counts(of)));
    all.insert("tags".to_owned(), Value::Object(tags.collect()));
    Value::Object(all)
}

fn counts(counts: &Counts) -> Value {
    json!({
        "queued": counts.queued,
        "sent": counts.sent,
        "again": counts.again,
        "acknowledged": counts.acknowledged,
        "expired": counts.expired,
        "cancelled": counts.cancelled,
        "bytes_queued": counts.bytes_queued,
        "received": counts.received,
        "bytes_received": counts.bytes_received,
        "duplicate": counts.duplicate,
        "late": counts.late,
        "incomplete": counts.incomplete,
    })
}

/// A link's status for people.
pub(crate) fn status_text(link: &Value) -> String {
    let text = |name: &str| link[name].as_str().unwrap_or("-").to_owned();
    let state = match (link["connected"].as_bool(), link["quiet"].as_bool()) {
        (Some(true), Some(true)) => "quiet",
        (Some(true), _) => "connected",
        _ => "not connected",
    };
    let narrowest = |name: &str, way: &str| {
        let bps = link[name]["bps"].as_f64();
        bps.map_or_else(String::new, |bps| {
            format!(", narrowest link {way} {:.2} Mbit/s", bps / 1e6)
        })
    };
    let narrowest = narrowest("capacity_out", "there") + &narrowest("capacity_in", "here");
    format!(
        "{}: {state}, {}, round trip {:.0} ms, {} of {} packets lost, {} messages waiting{narrowest}",
        text("peer"),
        text("address"),
        link["rtt_ms"].as_f64().unwrap_or(0.0),
        link["packets_lost"],
        link["packets_sent"],
        link["messages_waiting"],
    )
}
