//! The document of a transfer, as pages, terminals and programs get it. It holds no null.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    model::{Kind, Transfer},
    receiver::{Receiver, label},
};

/// Late is who lacks so much more than the middle one of all, as a share of everything.
const LATE_SHARE: f64 = 0.05;
/// Fields of the result that the rows say already.
const TOLD_ELSEWHERE: [&str; 4] = ["event", "outcomes", "rate_reason", "rate_limited_by"];

#[derive(Debug, Serialize)]
struct Document<'m> {
    version: &'static str,
    kind: &'static str,
    phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface: Option<&'m str>,
    /// Sizes of all that is sent or has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_bytes: Option<u64>,
    done_bytes: u64,
    /// How fast that grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pace_bps: Option<u64>,
    /// Seconds that are left at this pace.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sending: Option<Sending<'m>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dir: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<u64>,
    receivers: BTreeMap<String, Row<'m>>,
    alerts: BTreeMap<&'m str, Value>,
    /// How many there were since the start, by cause.
    alerts_raised: &'m BTreeMap<&'static str, u64>,
    warnings: Vec<&'m Value>,
    files: Vec<&'m Value>,
    file_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// What the points of the chart are, after the time.
    chart: &'static [(&'static str, &'static str)],
}

#[derive(Debug, Serialize)]
struct Sending<'m> {
    rate_bps: u64,
    repair_bytes: u64,
    wire_bytes: u64,
    complete: u64,
    heard: u64,
    limit: &'m str,
    limit_text: &'m str,
}

#[derive(Debug, Serialize)]
struct Row<'m> {
    label: String,
    state: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_bps: Option<u64>,
    loss: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt: Option<f64>,
    overruns: u64,
    files: u64,
    late: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'m str>,
}

const SEND_CHART: &[(&str, &str)] = &[("sending rate", "bit/s"), ("file data", "bit/s")];
const RECEIVE_CHART: &[(&str, &str)] = &[("received", "bit/s"), ("loss", "%")];

impl Transfer {
    /// What is shown now: since the start.
    pub fn document(&mut self, now: Duration) -> Value {
        self.judge(now);
        let (total, done, pace) = (self.total(), self.done(), self.pace());
        let left = total.zip(pace).filter(|(_, pace)| *pace > 0.0 && self.result.is_none());
        let left = left.map(|(total, pace)| total.saturating_sub(done) as f64 * 8.0 / pace);
        let middle = self.middle_bytes();
        let rows = self.receivers.iter();
        let rows = rows.map(|(id, one)| (id.to_string(), self.row(*id, one, middle))).collect();
        let sends = self.kind == Kind::Send;
        let document = Document {
            version: env!("CARGO_PKG_VERSION"),
            kind: if sends { "send" } else { "recv" },
            phase: self.phase,
            group: self.start["group"].as_str(),
            interface: self.start["interface"].as_str(),
            total_bytes: total,
            done_bytes: done,
            pace_bps: pace.map(|pace| pace as u64),
            left: left.map(|left| left.ceil() as u64),
            sending: sends.then(|| self.sending()),
            loss: self.progress["loss"].as_f64(),
            dir: self.start["dir"].as_str(),
            expected: self.expected,
            receivers: rows,
            alerts: self.alerts.iter().map(|(key, alert)| (&**key, json!(alert))).collect(),
            alerts_raised: &self.alerts.raised,
            warnings: self.warnings.iter().collect(),
            files: self.files.iter().collect(),
            file_count: self.file_count,
            result: self.result.as_ref().map(ending),
            chart: if sends { SEND_CHART } else { RECEIVE_CHART },
        };
        without_null(json!(document))
    }

    /// A point of the chart: the time, and then what the document's `chart` names.
    #[must_use]
    pub fn point(&self, now: Duration) -> Vec<f64> {
        let pace = self.pace().filter(|_| self.result.is_none()).unwrap_or(0.0);
        let now = now.as_secs_f64().round();
        match self.kind {
            Kind::Send => {
                let rate = self.progress["rate_bps"].as_f64().filter(|_| self.phase == "sending");
                vec![now, rate.unwrap_or(0.0), pace]
            }
            Kind::Receive => {
                vec![now, pace, self.progress["loss"].as_f64().unwrap_or(0.0) * 100.0]
            }
        }
    }

    fn sending(&self) -> Sending<'_> {
        let count = |field: &str| self.progress[field].as_u64().unwrap_or(0);
        let limit = &self.progress["limiting"];
        Sending {
            rate_bps: count("rate_bps"),
            repair_bytes: count("repair_bytes"),
            wire_bytes: count("wire_bytes"),
            complete: count("complete"),
            heard: (self.receivers.len() as u64).max(count("receivers")),
            limit: limit["code"].as_str().unwrap_or("none"),
            limit_text: limit["text"].as_str().unwrap_or("nothing has been sent yet"),
        }
    }

    fn middle_bytes(&self) -> Option<u64> {
        let mut all: Vec<u64> = self.receivers.values().filter_map(|one| one.bytes).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied()
    }

    fn row<'m>(&'m self, id: u64, one: &'m Receiver, middle: Option<u64>) -> Row<'m> {
        let state = one.outcome.as_deref().unwrap_or(&one.state);
        let room = self.total().map_or(f64::INFINITY, |total| total as f64 * LATE_SHARE);
        let behind = middle.zip(one.bytes).map(|(middle, own)| middle.saturating_sub(own) as f64);
        let deferred = one.verdict.as_deref() == Some("deferred");
        Row {
            label: label(&self.receivers, id),
            state: if state.is_empty() { "heard" } else { state },
            address: one.address(),
            bytes: one.bytes,
            rate_bps: one.rate_bps,
            loss: one.loss,
            rtt: one.rtt,
            overruns: one.overruns,
            files: one.files,
            late: !one.is_settled() && (deferred || behind.is_some_and(|bytes| bytes > room)),
            cause: self.alerts.of(id).map(|alert| alert.cause),
        }
    }
}

/// The result without what the rows say already.
fn ending(line: &Value) -> Value {
    let mut line = line.clone();
    if let Some(fields) = line.as_object_mut() {
        fields.retain(|name, _| !TOLD_ELSEWHERE.contains(&&**name));
    }
    line
}

/// A document without null: in a patch null takes a field away.
fn without_null(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(name, value)| (name, without_null(value))).collect())
        }
        Value::Array(each) => Value::Array(each.into_iter().map(without_null).collect()),
        other => other,
    }
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
