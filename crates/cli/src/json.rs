//! Events as JSON, one object per line; the schema is docs/json-events.md.

use fanfare_node::{
    Placed, SlowVerdict,
    event::{Receipt, ReceiveProgress, ReceiveReport, ReceiverView, SendProgress, SendReport},
    proto::{Bitrate, NodeId, ObjectKey, congestion::Reason as RateReason},
    receipt::Reason,
};
use serde::{Deserialize, Serialize};

/// One line of `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Line {
    Start(Start),
    Waiting(Waiting),
    Sending(Sending),
    Resuming(Resuming),
    Receiver(Receiver),
    Progress(Progress),
    Receipt(ReceiptLine),
    Reported(Reported),
    Slow(SlowLine),
    Evicted(Evicted),
    Sender(Sender),
    Object(Object),
    Resumed(Resumed),
    Mending(Mending),
    File(File),
    Failed(Failed),
    Deleted(Deleted),
    Deletion(Deletion),
    Gone(Gone),
    Reloaded(Reloaded),
    Warning(Message),
    Error(Message),
    Result(Box<ResultLine>),
}

/// The node is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Start {
    pub(crate) group: String,
    pub(crate) node_id: u32,
    pub(crate) interface: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) objects: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dir: Option<String>,
}

/// Receivers are waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waiting {
    pub(crate) receivers: u64,
    pub(crate) expected: u64,
    pub(crate) missing: Vec<String>,
}

/// A receiver gets less than it should, or enough again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlowLine {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    pub(crate) verdict: String,
    pub(crate) rate_bps: u64,
}

/// A sender goes on without this receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Evicted {
    pub(crate) sender: u32,
}

/// Data begins to flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sending {
    pub(crate) receivers: u64,
}

/// Every receiver has a part of this file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resuming {
    pub(crate) object: u16,
    pub(crate) file: String,
}

/// A part of a file was here before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resumed {
    pub(crate) id: u16,
    pub(crate) sender: u32,
    pub(crate) name: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) size: u64,
}

/// Wrong bytes are asked for again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mending {
    pub(crate) id: u16,
    pub(crate) sender: u32,
    pub(crate) name: Option<String>,
    pub(crate) bytes: u64,
}

/// A receiver is new, or in another state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Receiver {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    pub(crate) state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) free: Option<u64>,
}

/// How far it is: a sender's, or a receiver's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Progress {
    Send {
        sent_bytes: u64,
        total_bytes: u64,
        rate_bps: u64,
        repair_bytes: u64,
        wire_bytes: u64,
        complete: u64,
        receivers: u64,
        limiting: Option<String>,
        limiting_loss: Option<f64>,
        rate_reason: String,
        rate_limited_by: Option<String>,
    },
    Receive {
        bytes: u64,
        total_bytes: u64,
        loss: f64,
    },
}

/// A receiver holds an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiptLine {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    pub(crate) object: u16,
    pub(crate) file: String,
    pub(crate) hash: String,
    pub(crate) bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<u64>,
    pub(crate) seconds: f64,
}

/// A receiver reports something about an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reported {
    pub(crate) id: u32,
    pub(crate) file: String,
    pub(crate) reason: String,
}

/// A sender was heard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sender {
    pub(crate) id: u32,
    pub(crate) source: String,
}

/// An object begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Object {
    pub(crate) id: u16,
    pub(crate) sender: u32,
    pub(crate) name: Option<String>,
    pub(crate) size: u64,
}

/// A file is in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) size: u64,
    pub(crate) hash: String,
    pub(crate) verified: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) already: bool,
    pub(crate) seconds: f64,
    pub(crate) id: u16,
    pub(crate) sender: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name_rejected: Option<String>,
}

/// An object could not be had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failed {
    pub(crate) id: u16,
    pub(crate) sender: u32,
    pub(crate) name: Option<String>,
    pub(crate) reason: String,
}

/// Something that is not at the sender has been removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deleted {
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) directory: bool,
    pub(crate) id: u16,
    pub(crate) sender: u32,
}

/// What a listing came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deletion {
    pub(crate) id: u16,
    pub(crate) sender: u32,
    pub(crate) roots: Vec<String>,
    pub(crate) extra: Option<u64>,
    pub(crate) deleted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

/// A sender said good-bye (`said`), or was not heard for long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gone {
    pub(crate) id: u32,
    pub(crate) said: bool,
}

/// The configuration file was read again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reloaded {
    pub(crate) file: String,
    pub(crate) ok: bool,
    pub(crate) changed: Vec<String>,
    pub(crate) restart: Vec<String>,
}

/// Something for people, with a stable name for programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum ResultLine {
    Send {
        ok: bool,
        exit: u8,
        receivers: u64,
        complete: u64,
        outcomes: Vec<OutcomeLine>,
        missing: Vec<String>,
        bytes: u64,
        wire_bytes: u64,
        repair_bytes: u64,
        seconds: f64,
        goodput_bps: u64,
    },
    Receive {
        ok: bool,
        exit: u8,
        files: u64,
        bytes: u64,
        failed: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        deleted: u64,
    },
    Early {
        ok: bool,
        exit: u8,
    },
}

/// How it ended for one receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutcomeLine {
    pub(crate) id: u32,
    pub(crate) name: Option<String>,
    pub(crate) outcome: String,
    pub(crate) loss: f64,
    pub(crate) nacks: u64,
    pub(crate) seconds: f64,
}

impl Line {
    pub(crate) fn receiver(view: &ReceiverView) -> Self {
        let state = view.state.map_or("plain", |state| state.name()).to_owned();
        let source = view.source.map(|source| source.to_string());
        let (id, name, free) = (view.id.0, view.name.clone(), view.free);
        Self::Receiver(Receiver { id, name, state, source, free })
    }

    pub(crate) fn slow(view: &ReceiverView, verdict: SlowVerdict, rate: Bitrate) -> Self {
        Self::Slow(SlowLine {
            id: view.id.0,
            name: view.name.clone(),
            verdict: verdict.name().to_owned(),
            rate_bps: rate.as_bps(),
        })
    }

    pub(crate) fn send_progress(p: &SendProgress) -> Self {
        Self::Progress(Progress::Send {
            sent_bytes: p.sent_bytes,
            total_bytes: p.total_bytes,
            rate_bps: p.rate.as_bps(),
            repair_bytes: p.repair_bytes,
            wire_bytes: p.wire_bytes,
            complete: p.complete as u64,
            receivers: p.receivers as u64,
            limiting: p.limiting.as_ref().map(|(view, _)| view.label()),
            limiting_loss: p.limiting.as_ref().map(|(_, loss)| rounded(*loss)),
            rate_reason: reason_name(p.reason.0).to_owned(),
            rate_limited_by: p.reason.1.as_ref().map(ReceiverView::label),
        })
    }

    pub(crate) fn receive_progress(p: &ReceiveProgress) -> Self {
        let loss = rounded(p.loss);
        Self::Progress(Progress::Receive { bytes: p.bytes, total_bytes: p.total_bytes, loss })
    }

    pub(crate) fn receipt(receipt: &Receipt) -> Self {
        Self::Receipt(ReceiptLine {
            id: receipt.receiver.id.0,
            name: receipt.receiver.name.clone(),
            object: receipt.object,
            file: receipt.file.clone(),
            hash: hex(&receipt.hash),
            bytes: receipt.bytes,
            files: receipt.files,
            seconds: rounded(receipt.elapsed.as_secs_f64()),
        })
    }

    pub(crate) fn reported(id: NodeId, file: &str, reason: Reason) -> Self {
        Self::Reported(Reported {
            id: id.0,
            file: file.to_owned(),
            reason: reason.name().to_owned(),
        })
    }

    pub(crate) fn file(key: ObjectKey, placed: &Placed, path: String, seconds: f64) -> Self {
        Self::File(File {
            path,
            size: placed.size,
            hash: hex(&placed.hash),
            verified: placed.verified,
            already: placed.already,
            seconds: rounded(seconds),
            id: key.object.0,
            sender: key.sender.0,
            name_rejected: placed.name_rejected.map(|why| why.to_string()),
        })
    }

    pub(crate) fn message(code: &str, message: String) -> Message {
        Message { code: code.to_owned(), message }
    }

    pub(crate) fn send_result(report: &SendReport, wire_bytes: u64, exit: u8) -> Self {
        let seconds = report.elapsed.as_secs_f64();
        let goodput = if seconds > 0.0 { report.bytes as f64 * 8.0 / seconds } else { 0.0 };
        Self::Result(Box::new(ResultLine::Send {
            ok: exit == 0,
            exit,
            receivers: report.receivers.len() as u64,
            complete: report.complete() as u64,
            outcomes: outcomes(report),
            missing: report.missing.clone(),
            bytes: report.bytes,
            wire_bytes,
            repair_bytes: report.repair_bytes,
            seconds: rounded(seconds),
            goodput_bps: goodput as u64,
        }))
    }

    pub(crate) fn receive_result(report: &ReceiveReport, exit: u8) -> Self {
        Self::Result(Box::new(ResultLine::Receive {
            ok: exit == 0,
            exit,
            files: report.files,
            bytes: report.bytes,
            failed: report.failures.len() as u64,
            deleted: report.deleted,
        }))
    }

    pub(crate) fn early_result(exit: u8) -> Self {
        Self::Result(Box::new(ResultLine::Early { ok: exit == 0, exit }))
    }

    /// The line, without its end.
    pub(crate) fn to_text(&self) -> String {
        // Plain data with string keys: it always can be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn outcomes(report: &SendReport) -> Vec<OutcomeLine> {
    let line = |result: &fanfare_node::event::ReceiverResult| OutcomeLine {
        id: result.view.id.0,
        name: result.view.name.clone(),
        outcome: result.outcome.name().to_owned(),
        loss: rounded(result.loss),
        nacks: result.nacks,
        seconds: rounded(result.elapsed.as_secs_f64()),
    };
    report.receivers.iter().map(line).collect()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Six digits after the point are more than is known.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// 64 hexadecimal digits.
pub(crate) fn hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Why the rate is what it is, in one word.
fn reason_name(reason: RateReason) -> &'static str {
    match reason {
        RateReason::Set => "set",
        RateReason::NoFeedback => "no-feedback",
        RateReason::Start => "start",
        RateReason::Loss(..) => "loss",
        RateReason::Marks(..) => "marks",
        RateReason::Queue(..) => "queue",
        RateReason::Path(_) => "path",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const DOCUMENT: &str = include_str!("../../../docs/json-events.md");

    fn examples() -> Vec<&'static str> {
        DOCUMENT.lines().filter(|line| line.starts_with("{\"event\":")).collect()
    }

    #[test]
    fn every_example_in_the_document_is_what_the_code_writes() {
        for example in examples() {
            let line: Line = serde_json::from_str(example).expect(example);
            assert_eq!(line.to_text(), example);
        }
    }

    #[test]
    fn every_event_has_an_example_in_the_document() {
        let name = |line: &&str| line.split('"').nth(3).unwrap_or_default().to_owned();
        let documented: BTreeSet<String> = examples().iter().map(name).collect();
        let all = "start sending resuming receiver progress receipt reported sender object resumed mending file failed gone \
                   warning error result \
                   waiting slow evicted reloaded deleted deletion";
        assert_eq!(documented, all.split_whitespace().map(str::to_owned).collect());
    }

    #[test]
    fn an_unknown_field_in_an_example_would_be_noticed() {
        let line = r#"{"event":"gone","id":7,"said":true,"more":1}"#;
        assert!(serde_json::from_str::<Line>(line).is_err());
    }
}
