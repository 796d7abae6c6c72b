//! The lines of `--json`, and what all commands tell.

use serde::{Deserialize, Serialize};

use super::{
    codes::{CodeLine, MetLine},
    keys::{IdLine, KeyLine, SignedLine, TrustLine, VerifiedLine},
    messages::{
        Broker, Cancelled, CrossingLine, CrossingWay, Dropped, Drops, GatewayLine, Held, Lost,
        Member, Members, MessageLine, Published, Sent, StatusLine, Subscribed, Unsubscribed, Way,
        WayLine,
    },
    receiving::{
        Bound, Deleted, Deletion, Evicted, Failed, File, Gone, LayersLine, Mending, Object,
        PartLine, Resumed, Sender, Tree,
    },
    sending::{
        LimitLine, OutcomeLine, PlannedLine, ReceiptLine, Receiver, Receivers, Reported, Resuming,
        Sending, SlowLine, Waiting,
    },
};

/// One line of `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Line {
    Start(Start),
    Code(CodeLine),
    Met(MetLine),
    Planned(PlannedLine),
    Waiting(Waiting),
    Sending(Sending),
    Resuming(Resuming),
    Receiver(Receiver),
    Receivers(Receivers),
    Progress(Progress),
    Receipt(ReceiptLine),
    Reported(Reported),
    Slow(SlowLine),
    Evicted(Evicted),
    Layers(LayersLine),
    Sender(Sender),
    Bound(Bound),
    Object(Object),
    Resumed(Resumed),
    Mending(Mending),
    File(File),
    Failed(Failed),
    Deleted(Deleted),
    Deletion(Deletion),
    Tree(Tree),
    Gone(Gone),
    Part(PartLine),
    Published(Published),
    Sent(Sent),
    Held(Held),
    Message(MessageLine),
    Dropped(Dropped),
    Member(Member),
    Lost(Lost),
    Broker(Broker),
    Crossing(CrossingLine),
    Gateway(GatewayLine),
    Subscribed(Subscribed),
    Unsubscribed(Unsubscribed),
    Cancelled(Cancelled),
    Members(Members),
    Status(Box<StatusLine>),
    Signed(SignedLine),
    Key(KeyLine),
    Id(IdLine),
    Trusted(TrustLine),
    Verified(VerifiedLine),
    Reloaded(Reloaded),
    Warning(Message),
    Error(Message),
    Result(Box<ResultLine>),
}

/// The same of one of several streams, or groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamLine {
    #[serde(flatten)]
    line: Line,
    /// Its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream: Option<String>,
    /// What a node calls its group.
    #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
    within: Option<String>,
}

impl StreamLine {
    /// Of a group of a node of several.
    pub fn within(line: &Line, group: &str) -> Self {
        Self { line: line.clone(), stream: None, within: Some(group.to_owned()) }
    }

    /// What it says, whosever it is.
    pub fn into_line(self) -> Line {
        self.line
    }

    /// The line, without its end.
    pub fn to_text(&self) -> String {
        // Plain data with string keys: it always can be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The node is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    pub group: String,
    pub node_id: u32,
    pub interface: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
}

/// How far it is: a sender's, or a receiver's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Progress {
    Send {
        sent_bytes: u64,
        total_bytes: u64,
        rate_bps: u64,
        repair_bytes: u64,
        wire_bytes: u64,
        complete: u64,
        receivers: u64,
        limiting: LimitLine,
        lossiest: Option<String>,
        lossiest_loss: Option<f64>,
        rate_reason: String,
        rate_limited_by: Option<String>,
    },
    Receive {
        bytes: u64,
        total_bytes: u64,
        loss: f64,
    },
}

/// The configuration file was read again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reloaded {
    pub file: String,
    pub ok: bool,
    pub changed: Vec<String>,
    pub restart: Vec<String>,
}

/// Something for people, with a stable name for programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub code: String,
    pub message: String,
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ResultLine {
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
        limiting: Option<LimitLine>,
        rate_reason: Option<String>,
        rate_limited_by: Option<String>,
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
        #[serde(default, skip_serializing_if = "is_zero")]
        refused_senders: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        overruns: u64,
    },
    Parts {
        ok: bool,
        exit: u8,
        parts: u64,
        taken: u64,
    },
    DryRun {
        ok: bool,
        exit: u8,
        files: u64,
        would_send: u64,
        seconds: Option<f64>,
    },
    Publish {
        ok: bool,
        exit: u8,
        messages: u64,
        held: u64,
        bytes: u64,
        holders: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        replaced: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lacking: Vec<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drops: Option<Drops>,
    },
    Streams {
        ok: bool,
        exit: u8,
        streams: u64,
        complete: u64,
        memory: u64,
        memory_most: u64,
        memory_refused: u64,
    },
    Bridge {
        ok: bool,
        exit: u8,
        to_group: u64,
        to_plain: u64,
        duplicates: u64,
        dropped: u64,
        ways: Vec<CrossingWay>,
    },
    Gateway {
        ok: bool,
        exit: u8,
        to: Way,
        back: Way,
        refused: u64,
        /// Gone from the groups before the gateway could take them.
        #[serde(default, skip_serializing_if = "is_zero")]
        missed: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ways: Vec<WayLine>,
    },
    Nats {
        ok: bool,
        exit: u8,
        to_group: u64,
        to_nats: u64,
        acknowledged: u64,
        retried: u64,
        duplicates: u64,
        dropped: u64,
        expired: u64,
        waiting: u64,
        reconnects: u64,
        ways: Vec<CrossingWay>,
    },
    Subscribe {
        ok: bool,
        exit: u8,
        messages: u64,
        unwritten: u64,
        /// Before they could be handed over.
        #[serde(default, skip_serializing_if = "is_zero")]
        dropped: u64,
        /// Could not be kept.
        #[serde(default, skip_serializing_if = "is_zero")]
        lost: u64,
        bytes: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drops: Option<Drops>,
    },
    Early {
        ok: bool,
        exit: u8,
    },
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const DOCUMENT: &str = include_str!("../../../../../docs/reference/json-events.md");

    fn examples() -> Vec<&'static str> {
        DOCUMENT.lines().filter(|line| line.starts_with("{\"event\":")).collect()
    }

    #[test]
    fn every_example_in_the_document_is_what_the_code_writes() {
        for example in examples() {
            let line: StreamLine = serde_json::from_str(example).expect(example);
            assert_eq!(line.to_text(), example);
        }
    }

    #[test]
    fn every_event_has_an_example_in_the_document() {
        let name = |line: &&str| line.split('"').nth(3).unwrap_or_default().to_owned();
        let documented: BTreeSet<String> = examples().iter().map(name).collect();
        let all = "start planned sending resuming receiver receivers progress receipt reported sender bound object resumed mending file failed gone part \
                   warning error result \
                   waiting slow evicted reloaded deleted deletion tree layers \
                   published sent held message dropped member lost broker crossing gateway subscribed unsubscribed \
                   cancelled members status \
                   id key signed trusted verified code met";
        assert_eq!(documented, all.split_whitespace().map(str::to_owned).collect());
    }

    #[test]
    fn an_unknown_field_in_an_example_would_be_noticed() {
        let line = r#"{"event":"gone","id":7,"said":true,"more":1}"#;
        assert!(serde_json::from_str::<Line>(line).is_err());
        assert!(serde_json::from_str::<StreamLine>(line).is_err());
        let known = line.replace("\"more\":1", "\"stream\":\"239.0.0.1:1\"");
        assert!(serde_json::from_str::<StreamLine>(&known).is_ok());
    }
}
