//! Events as JSON, one object per line; the schema is docs/json-events.md.
//!
//! Here are their shapes; `filling`: how they are made of what the node tells.

mod filling;

pub(crate) use filling::hex;

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
    Layers(LayersLine),
    Sender(Sender),
    Object(Object),
    Resumed(Resumed),
    Mending(Mending),
    File(File),
    Failed(Failed),
    Deleted(Deleted),
    Deletion(Deletion),
    Gone(Gone),
    Published(Published),
    Held(Held),
    Message(MessageLine),
    Member(Member),
    Lost(Lost),
    Subscribed(Subscribed),
    Status(Box<StatusLine>),
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

/// An object comes by so many layers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LayersLine {
    pub(crate) sender: u32,
    pub(crate) level: u64,
    pub(crate) rate_bps: u64,
    pub(crate) loss: f64,
    pub(crate) overhead: f64,
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

/// A message was taken for sending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    pub(crate) topic: String,
    pub(crate) id: u16,
    pub(crate) size: u64,
}

/// Another node says that it holds a message of ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Held {
    pub(crate) id: u16,
    pub(crate) node: u32,
}

/// A message has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageLine {
    pub(crate) topic: String,
    pub(crate) publisher: u32,
    pub(crate) number: u64,
    pub(crate) size: u64,
    pub(crate) priority: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
}

/// A node of the group came or went, or says whether it hears this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Member {
    pub(crate) id: u32,
    pub(crate) state: String,
}

/// A client of a node has subscribed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subscribed {
    pub(crate) filter: String,
    pub(crate) subscription: u32,
}

/// How a node stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusLine {
    pub(crate) node: u32,
    pub(crate) members: Vec<MemberLine>,
    pub(crate) own: u64,
    pub(crate) kept: u64,
    pub(crate) kept_bytes: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) repairs_sent: u64,
    pub(crate) repairs_heard: u64,
    pub(crate) repairs_useful: u64,
    pub(crate) frames_refused: u64,
    pub(crate) wrong: u64,
    pub(crate) evicted: u64,
}

/// One that it has heard of late.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemberLine {
    pub(crate) id: u32,
    pub(crate) hears_us: Option<bool>,
}

/// A message could not be kept here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lost {
    pub(crate) publisher: u32,
    pub(crate) id: u16,
    pub(crate) reason: String,
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
        #[serde(default, skip_serializing_if = "is_zero")]
        refused: u64,
    },
    Publish {
        ok: bool,
        exit: u8,
        messages: u64,
        held: u64,
        bytes: u64,
        holders: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lacking: Vec<u32>,
    },
    Bridge {
        ok: bool,
        exit: u8,
        to_group: u64,
        to_plain: u64,
        duplicates: u64,
        dropped: u64,
    },
    Subscribe {
        ok: bool,
        exit: u8,
        messages: u64,
        unwritten: u64,
        bytes: u64,
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

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(value: &u64) -> bool {
    *value == 0
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
                   waiting slow evicted reloaded deleted deletion layers \
                   published held message member lost subscribed status";
        assert_eq!(documented, all.split_whitespace().map(str::to_owned).collect());
    }

    #[test]
    fn an_unknown_field_in_an_example_would_be_noticed() {
        let line = r#"{"event":"gone","id":7,"said":true,"more":1}"#;
        assert!(serde_json::from_str::<Line>(line).is_err());
    }
}
