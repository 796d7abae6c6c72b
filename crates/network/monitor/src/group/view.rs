//! The document of a group.

use std::{collections::BTreeMap, time::Duration};

use fanfare_messaging::monitor::Facts;
use serde::Serialize;
use serde_json::{Value, json};

use super::troubles::Troubles;

/// Nodes that are shown with their numbers; the sums have all.
const NODES_MAX: usize = 1024;

/// What is known of one node.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its id.
    pub id: u32,
    /// Its name, once it is known.
    pub name: Option<String>,
    /// What it says of itself.
    pub facts: Facts,
    /// How long ago it was so.
    pub age: Duration,
    /// Through how many others it came.
    pub hop: u8,
    /// It is not heard any more.
    pub silent: bool,
}

/// Who hears whom, in sevenths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// Who hears.
    pub who: u32,
    /// Whom.
    pub whom: u32,
    /// How much of it.
    pub sevenths: u8,
}

/// Counts of messages and events that this node did not give to its programs and gateways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DropCounts {
    /// Messages that were gone from the cache before they were taken.
    pub unread: u64,
    /// Messages that could not be kept.
    pub unkept: u64,
    /// Events other than messages.
    pub events: u64,
}

/// All that is known of a group now.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Its nodes, the own one among them.
    pub nodes: Vec<Node>,
    /// Who hears whom.
    pub hearing: Vec<Heard>,
    /// Between two notes of this node, on average.
    pub interval: Duration,
    /// Bytes of notes that this node has sent, with all headers, and their number.
    pub notes: (u64, u64),
    /// Notes heard.
    pub notes_heard: u64,
    /// Bytes that this node has sent in all.
    pub bytes_sent: u64,
    /// Repairs for others.
    pub repairs: u64,
    /// Messages kept for others.
    pub frames_refused: u64,
    /// Counts of what its programs and gateways were not given.
    pub dropped: DropCounts,
    /// Counters of this node's gateways: a list of ways, each with `from`, `to` and counters.
    pub ways: Value,
}

/// A group that is watched.
#[derive(Debug)]
pub struct GroupView {
    group: String,
    interface: Option<String>,
    own: u32,
    /// Bits per second for all notes together.
    allowed_bps: f64,
    troubles: Troubles,
    /// Bytes of notes sent at some time.
    before: Option<(Duration, u64)>,
    note_bps: f64,
    last: Option<(f64, f64)>,
}

#[derive(Debug, Serialize)]
struct Row {
    label: String,
    state: &'static str,
    age: f64,
    hop: u8,
    heard_by: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    processor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    battery: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hears: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
}

impl GroupView {
    /// Of a group at this address, seen by node `own`. `allowed_bps`: the share of the channel that all
    /// monitors may use.
    #[must_use]
    pub fn new(group: String, interface: Option<String>, own: u32, allowed_bps: f64) -> Self {
        Self {
            group,
            interface,
            own,
            allowed_bps,
            troubles: Troubles::default(),
            before: None,
            note_bps: 0.0,
            last: None,
        }
    }

    /// What is shown now: since the start.
    pub fn document(&mut self, now: Duration, seen: &Seen) -> Value {
        self.measure(now, seen.notes.0);
        let labels = labels(&seen.nodes);
        self.troubles.look(now, self.own, seen, &labels);
        let mut heard_by: BTreeMap<u32, usize> = BTreeMap::new();
        let mut hearing: BTreeMap<String, BTreeMap<String, u8>> = BTreeMap::new();
        let known = |id: u32| labels.contains_key(&id);
        for heard in seen.hearing.iter().filter(|h| known(h.who) && known(h.whom)) {
            *heard_by.entry(heard.whom).or_default() += usize::from(heard.sevenths >= 3);
            let of = hearing.entry(heard.who.to_string()).or_default();
            of.insert(heard.whom.to_string(), heard.sevenths);
        }
        let rows = seen.nodes.iter().take(NODES_MAX);
        let rows: BTreeMap<String, Row> = rows
            .map(|node| {
                let by = heard_by.get(&node.id).copied().unwrap_or(0);
                (node.id.to_string(), self.row(node, &labels[&node.id], by))
            })
            .collect();
        let silent = seen.nodes.iter().filter(|node| node.silent).count();
        let sent: f64 = seen.nodes.iter().filter_map(|node| node.facts.sent).sum();
        self.last = Some((sent, self.note_bps));
        let alerts: BTreeMap<&str, Value> =
            self.troubles.alerts().iter().map(|(key, alert)| (&**key, json!(alert))).collect();
        let mut document = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "kind": "group",
            "phase": "running",
            "group": self.group,
            "own": self.own.to_string(),
            "nodes": rows,
            "up": seen.nodes.len() - silent,
            "silent": silent,
            "sent_bps": sent.round(),
            "hearing": hearing,
            "alerts": alerts,
            "alerts_raised": self.troubles.alerts().raised,
            "monitor": {
                "interval": rounded(seen.interval.as_secs_f64()),
                "notes_sent": seen.notes.1,
                "notes_heard": seen.notes_heard,
                "bytes_sent": seen.notes.0,
                "bps": self.note_bps.round(),
                "allowed_bps": self.allowed_bps.round(),
            },
            "bytes_sent": seen.bytes_sent,
            "repairs": seen.repairs,
            "frames_refused": seen.frames_refused,
            "dropped": seen.dropped,
            "chart": [["sent by all", "bit/s"], ["notes of this node", "bit/s"]],
        });
        if let Some(interface) = &self.interface {
            document["interface"] = json!(interface);
        }
        if seen.ways.is_array() {
            document["ways"] = seen.ways.clone();
        }
        document
    }

    /// A point of the chart.
    #[must_use]
    pub fn point(&self, now: Duration) -> Vec<f64> {
        let (sent, notes) = self.last.unwrap_or_default();
        vec![now.as_secs_f64().round(), sent, notes]
    }

    /// What notes take, over some ten seconds: they come every few.
    fn measure(&mut self, now: Duration, bytes: u64) {
        let Some((at, before)) = self.before else {
            self.before = Some((now, bytes));
            return;
        };
        let span = now.saturating_sub(at).as_secs_f64();
        if span >= 10.0 {
            self.note_bps = bytes.saturating_sub(before) as f64 * 8.0 / span;
            self.before = Some((now, bytes));
        }
    }

    fn row(&self, node: &Node, label: &str, heard_by: usize) -> Row {
        let Facts { processor, memory, battery, sent, received, loss, rtt, hears } = node.facts;
        let own = node.id == self.own;
        let state = match (own, node.silent) {
            (true, _) => "this node",
            (_, true) => "silent",
            (_, false) => "up",
        };
        Row {
            label: label.to_owned(),
            state,
            // An age that grows by itself is no news: it is told in steps.
            age: stepped(node.age.as_secs_f64()),
            hop: node.hop,
            heard_by,
            processor: processor.map(rounded),
            memory: memory.map(rounded),
            battery: battery.map(rounded),
            sent_bps: sent.map(|bits| bits as u64),
            received_bps: received.map(|bits| bits as u64),
            loss: loss.map(rounded),
            rtt: rtt.map(rounded),
            hears,
            cause: self.troubles.alerts().of(u64::from(node.id)).map(|alert| alert.cause),
        }
    }
}

/// Their names; with the id where two say the same one, and the id alone where there is none.
fn labels(nodes: &[Node]) -> BTreeMap<u32, String> {
    let mut said: BTreeMap<&str, usize> = BTreeMap::new();
    for name in nodes.iter().filter_map(|node| node.name.as_deref()) {
        *said.entry(name).or_default() += 1;
    }
    let label = |node: &Node| match node.name.as_deref() {
        Some(name) if said[name] == 1 => name.to_owned(),
        Some(name) => format!("{name} ({:08x})", node.id),
        None => format!("{:08x}", node.id),
    };
    nodes.iter().map(|node| (node.id, label(node))).collect()
}

fn stepped(seconds: f64) -> f64 {
    let step = if seconds < 10.0 { 1.0 } else { 5.0 };
    (seconds / step).floor() * step
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
