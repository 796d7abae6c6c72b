//! One of those that receive, as the sender's lines tell of it.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;

/// Of a line `receiver`.
#[derive(Debug, Deserialize)]
pub(super) struct Told {
    pub(super) id: u64,
    name: Option<String>,
    state: String,
    source: Option<String>,
    free: Option<u64>,
}

/// Of a line `receivers`.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    pub(super) id: u64,
    name: Option<String>,
    source: Option<String>,
    state: String,
    bytes: Option<u64>,
    rate_bps: Option<u64>,
    loss: f64,
    rtt: Option<f64>,
    #[serde(default)]
    overruns: u64,
}

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    pub(super) name: Option<String>,
    pub(super) source: Option<String>,
    pub(super) state: String,
    pub(super) bytes: Option<u64>,
    pub(super) rate_bps: Option<u64>,
    pub(super) loss: f64,
    pub(super) rtt: Option<f64>,
    pub(super) overruns: u64,
    /// When these grew last.
    pub(super) overran: Option<Duration>,
    /// Free on its disk before data flowed: while it does, what is to come may have its place already.
    pub(super) free: Option<u64>,
    /// When its bytes grew last.
    pub(super) moved: Option<Duration>,
    /// How far the middle one of all was then.
    pub(super) middle_then: u64,
    /// Files that it has confirmed.
    pub(super) files: u64,
    /// What it said of files, by reason: the first file and how many.
    pub(super) reported: BTreeMap<String, (String, u64)>,
    /// `deferred` or `evicted`.
    pub(super) verdict: Option<String>,
    /// How it ended.
    pub(super) outcome: Option<String>,
}

impl Receiver {
    pub(super) fn on_told(&mut self, told: Told) {
        if told.state == "ready" {
            self.free = told.free;
        }
        (self.name, self.state) = (told.name, told.state);
        self.source = told.source.or(self.source.take());
    }

    /// `middle`: how far the middle one of all is.
    pub(super) fn on_row(&mut self, now: Duration, row: Row, middle: u64) {
        if row.overruns > self.overruns {
            self.overran = Some(now);
        }
        if row.bytes != self.bytes || self.moved.is_none() {
            (self.moved, self.middle_then) = (Some(now), middle);
        }
        (self.name, self.state, self.overruns) = (row.name, row.state, row.overruns);
        self.source = row.source.or(self.source.take());
        (self.bytes, self.rate_bps) = (row.bytes, row.rate_bps);
        (self.loss, self.rtt) = (row.loss, row.rtt);
    }

    /// Nothing more is to come to it.
    pub(super) fn is_settled(&self) -> bool {
        self.outcome.is_some()
            || !matches!(&*self.state, "ready" | "receiving" | "plain" | "failed")
    }

    /// Its address, without the port.
    pub(super) fn address(&self) -> Option<&str> {
        self.source.as_deref().and_then(|source| source.rsplit_once(':')).map(|(ip, _)| ip)
    }
}

/// Its name; with its address, or its id, where others have the same name.
pub(super) fn label(receivers: &BTreeMap<u64, Receiver>, id: u64) -> String {
    let hex = || format!("{id:08x}");
    let Some(one) = receivers.get(&id) else { return hex() };
    let same = |other: &&Receiver| other.name == one.name;
    let namesakes = receivers.values().filter(same).count();
    match (&one.name, one.address()) {
        (Some(name), _) if namesakes < 2 => name.clone(),
        (Some(name), Some(address)) => format!("{name} ({address})"),
        (Some(name), None) => format!("{name} ({})", hex()),
        (None, Some(address)) => address.to_owned(),
        (None, None) => hex(),
    }
}
