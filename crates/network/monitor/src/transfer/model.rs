//! What the lines of `--json` have said so far.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use serde::Deserialize;
use serde_json::Value;

use super::{
    alert::{Alert, Alerts, Severity},
    causes::{Scene, middle_bytes},
    receiver::{Receiver, Row, Told},
};

/// A rate is measured over so much: shorter, and it flickers.
const RATE_SPAN: Duration = Duration::from_secs(3);
/// Warnings and files that are shown; the lines of `--json` have all.
pub(super) const LISTED_MAX: usize = 50;
/// Receivers that are shown: a sender knows no more.
const RECEIVERS_MAX: usize = 4096;
/// Loss at which a receiver looks for its cause, as a sender does.
const OWN_LOSS_MIN: f64 = 0.01;

/// Which end it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `fanfare send`.
    Send,
    /// `fanfare recv`.
    Receive,
}

/// One transfer, or what one receiver gets.
#[derive(Debug)]
pub struct Transfer {
    pub(super) kind: Kind,
    pub(super) phase: &'static str,
    /// Of the line `start`.
    pub(super) start: Value,
    /// The last line `progress`.
    pub(super) progress: Value,
    /// Since when the same limits the rate.
    limit_since: Duration,
    pub(super) receivers: BTreeMap<u64, Receiver>,
    pub(super) expected: Option<u64>,
    missing: Vec<String>,
    /// When they were told.
    waiting: Option<Duration>,
    pub(super) alerts: Alerts,
    /// What a receiver has found about itself.
    own: Vec<Alert>,
    pub(super) warnings: VecDeque<Value>,
    pub(super) files: VecDeque<Value>,
    pub(super) file_count: u64,
    pub(super) result: Option<Value>,
    /// Bytes done at some times.
    done: VecDeque<(Duration, u64)>,
}

impl Transfer {
    /// Nothing has been said yet.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            phase: "preparing",
            start: Value::Null,
            progress: Value::Null,
            limit_since: Duration::ZERO,
            receivers: BTreeMap::new(),
            expected: None,
            missing: Vec::new(),
            waiting: None,
            alerts: Alerts::default(),
            own: Vec::new(),
            warnings: VecDeque::new(),
            files: VecDeque::new(),
            file_count: 0,
            result: None,
            done: VecDeque::new(),
        }
    }

    /// A line of `--json`, and when it came: since the start.
    pub fn on_line(&mut self, now: Duration, line: Value) {
        match line["event"].as_str().unwrap_or_default() {
            "start" => self.on_start(line),
            "waiting" => self.on_waiting(now, &line),
            "sending" => self.phase = "sending",
            "receiver" => self.on_receiver(line),
            "receivers" => self.on_rows(now, line),
            "progress" => self.on_progress(now, line),
            "receipt" => self.of(&line, |one, _| one.files += 1),
            "reported" => self.of(&line, on_reported),
            "slow" => self.of(&line, |one, line| {
                one.verdict = line["verdict"].as_str().map(str::to_owned);
            }),
            "file" => self.on_file(line),
            "failed" => self.on_failed(now, &line),
            "evicted" => self.on_evicted(now),
            "warning" | "error" => self.on_warning(now, line),
            "result" => self.on_result(line),
            _ => {}
        }
    }

    /// Looks for causes. Once before each document.
    pub(super) fn judge(&mut self, now: Duration) {
        let limiting = &self.progress["limiting"];
        let missing = if self.waiting.is_some() { &self.missing[..] } else { &[] };
        let scene = Scene {
            now,
            receivers: &self.receivers,
            total: self.total(),
            flowing: self.phase == "sending",
            limit: limiting["code"].as_str().map(|code| (code, limiting["id"].as_u64())),
            limit_since: self.limit_since,
            missing,
        };
        let mut found = scene.find();
        found.append(&mut self.own);
        if self.kind == Kind::Receive && self.phase == "receiving" {
            found.extend(self.own_loss(now));
        }
        self.alerts.on_found(now, found);
    }

    pub(super) fn total(&self) -> Option<u64> {
        let told = self.progress["total_bytes"].as_u64();
        told.filter(|total| *total > 0).or_else(|| self.start["bytes"].as_u64())
    }

    /// Bytes sent, or received.
    pub(super) fn done(&self) -> u64 {
        let field = if self.kind == Kind::Send { "sent_bytes" } else { "bytes" };
        self.progress[field].as_u64().unwrap_or(0)
    }

    /// How fast that grows, bit/s.
    pub(super) fn pace(&self) -> Option<f64> {
        let ((from, before), (until, after)) = (self.done.front()?, self.done.back()?);
        let span = until.saturating_sub(*from).as_secs_f64();
        (span > 0.5).then(|| after.saturating_sub(*before) as f64 * 8.0 / span)
    }

    fn on_start(&mut self, line: Value) {
        self.phase = if self.kind == Kind::Send { "waiting" } else { "listening" };
        self.start = line;
    }

    fn on_waiting(&mut self, now: Duration, line: &Value) {
        self.expected = line["expected"].as_u64();
        let names = line["missing"].as_array().into_iter().flatten();
        self.missing = names.filter_map(Value::as_str).map(str::to_owned).collect();
        self.waiting.get_or_insert(now);
    }

    fn on_receiver(&mut self, line: Value) {
        if let Ok(told) = Told::deserialize(line)
            && let Some(one) = self.receiver(told.id)
        {
            one.on_told(told);
        }
    }

    fn on_rows(&mut self, now: Duration, mut line: Value) {
        let Value::Array(rows) = line["receivers"].take() else { return };
        let middle = middle_bytes(&self.receivers);
        for row in rows.into_iter().filter_map(|row| Row::deserialize(row).ok()) {
            if let Some(one) = self.receiver(row.id) {
                one.on_row(now, row, middle);
            }
        }
    }

    fn on_progress(&mut self, now: Duration, line: Value) {
        if self.kind == Kind::Receive && self.result.is_none() {
            self.phase = "receiving";
        }
        let limit = |line: &Value| {
            let limiting = &line["limiting"];
            (limiting["code"].as_str().map(str::to_owned), limiting["id"].as_u64())
        };
        if limit(&line) != limit(&self.progress) {
            self.limit_since = now;
        }
        self.progress = line;
        self.done.push_back((now, self.done()));
        while self.done.len() > 2 && self.done[1].0 + RATE_SPAN < now {
            self.done.pop_front();
        }
    }

    fn on_file(&mut self, line: Value) {
        self.file_count += 1;
        keep(&mut self.files, line);
    }

    fn on_failed(&mut self, now: Duration, line: &Value) {
        let name = line["name"].as_str().unwrap_or("a file");
        let (cause, text, advice) = match line["reason"].as_str().unwrap_or_default() {
            "disk-full" => (
                "disk-full",
                format!("the disk here is full: no room for '{name}'"),
                "Free space, and ask for it to be sent again",
            ),
            "disk-error" => (
                "disk-error",
                format!("the disk here fails: '{name}' cannot be written"),
                "Look at this system's log, and at the disk",
            ),
            reason => (
                "failed",
                format!("'{name}' was not received: {reason}"),
                "See the warnings, and ask for it to be sent again",
            ),
        };
        self.own.push(own(now, (cause, Severity::Critical), text, advice));
    }

    fn on_evicted(&mut self, now: Duration) {
        let text = "the sender goes on without this receiver: too little arrives here".to_owned();
        let advice = "Check the cable and other work of this machine, and ask for it again";
        self.own.push(own(now, ("evicted", Severity::Critical), text, advice));
    }

    fn on_warning(&mut self, now: Duration, mut line: Value) {
        if line["code"] == "receive.overrun" {
            let text = "this is a slow machine: its receive buffer ran over".to_owned();
            let advice = "Stop other work here, or use a faster disk";
            self.own.push(own(now, ("slow-machine", Severity::Warning), text, advice));
        }
        line["at"] = Value::from((now.as_secs_f64() * 10.0).round() / 10.0);
        keep(&mut self.warnings, line);
    }

    fn on_result(&mut self, line: Value) {
        self.phase = "ended";
        self.waiting = None;
        for outcome in line["outcomes"].as_array().into_iter().flatten() {
            self.of(outcome, |one, line| {
                one.outcome = line["outcome"].as_str().map(str::to_owned);
            });
        }
        self.result = Some(line);
    }

    fn own_loss(&self, now: Duration) -> Option<Alert> {
        let loss = self.progress["loss"].as_f64().filter(|loss| *loss >= OWN_LOSS_MIN)?;
        let text = format!("the path to this machine loses {:.1} %", loss * 100.0);
        let advice = "Check the cable, the switch port or the radio";
        Some(own(now, ("lossy-path", Severity::Warning), text, advice))
    }

    fn of(&mut self, line: &Value, change: impl FnOnce(&mut Receiver, &Value)) {
        if let Some(one) = line["id"].as_u64().and_then(|id| self.receiver(id)) {
            change(one, line);
        }
    }

    fn receiver(&mut self, id: u64) -> Option<&mut Receiver> {
        if self.receivers.len() >= RECEIVERS_MAX && !self.receivers.contains_key(&id) {
            return None;
        }
        Some(self.receivers.entry(id).or_default())
    }
}

fn on_reported(one: &mut Receiver, line: &Value) {
    let text = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
    one.reported.entry(text("reason")).or_insert((text("file"), 0)).1 += 1;
}

/// About this machine itself.
fn own(
    now: Duration,
    (cause, severity): (&'static str, Severity),
    text: String,
    advice: &str,
) -> Alert {
    Alert {
        cause,
        severity,
        id: None,
        subject: String::new(),
        text,
        advice: advice.to_owned(),
        since: now.as_secs_f64(),
        lasting: severity == Severity::Critical,
    }
}

fn keep(list: &mut VecDeque<Value>, line: Value) {
    if list.len() == LISTED_MAX {
        list.pop_front();
    }
    list.push_back(line);
}
