//! What members of a group of messages tell.

use std::collections::BTreeMap;

use fanfare_node::gateway::GatewayStats;
use serde::{Deserialize, Serialize};

/// A message was taken for sending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub topic: String,
    pub id: u16,
    pub size: u64,
    /// How many it is, where several travel together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u32>,
}

/// All of a message of ours has been on its way once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sent {
    pub id: u16,
}

/// Another node says that it holds a message of ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    pub id: u16,
    pub node: u32,
}

/// A message has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageLine {
    pub topic: String,
    pub publisher: u32,
    /// Which life of the publisher; a node of an earlier version does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<u16>,
    pub number: u64,
    /// Who brought it, and how many gateways it has passed, where it was not its publisher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u8>,
    pub size: u64,
    pub priority: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<u64>,
    /// The same in digits, where not every reader's numbers are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag_text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// So many bytes of content follow the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Messages of a subscription were gone before they could be handed over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dropped {
    pub subscription: u32,
    pub messages: u64,
}

/// What was not done, or not obeyed, and why: each with its count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Drops {
    pub messages: u64,
    pub unkept: u64,
    pub events: u64,
    pub sums: u64,
    pub demands: u64,
    pub members: u64,
    pub publishers: u64,
    pub origins: u64,
    pub relays: u64,
    pub standings: u64,
    pub tags: u64,
    pub deadlines: u64,
    pub datagrams: BTreeMap<String, u64>,
}

/// Counters of what a bridge heard on one side, for the other. `heard` is the sum of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossingWay {
    pub from: String,
    pub to: String,
    pub heard: u64,
    pub carried: u64,
    pub duplicates: u64,
    pub expired: u64,
    pub dropped: u64,
    pub refused: u64,
    pub waiting: u64,
}

/// Counters of a bridge while it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossingLine {
    pub ways: Vec<CrossingWay>,
}

/// What a gateway has carried one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// A node of an earlier version does not say.
    #[serde(default)]
    pub heard: u64,
    pub carried: u64,
    pub bytes: u64,
    pub left: u64,
    pub doubled: u64,
    pub expired: u64,
    pub replaced: u64,
    pub dropped: u64,
    pub too_far: u64,
    pub forgotten: u64,
    pub waiting: u64,
}

impl From<GatewayStats> for Way {
    fn from(stats: GatewayStats) -> Self {
        let GatewayStats { heard, carried, bytes, left, doubled, expired, .. } = stats;
        let GatewayStats { replaced, dropped, too_far, forgotten, waiting, .. } = stats;
        Self {
            heard,
            carried,
            bytes,
            left,
            doubled,
            expired,
            replaced,
            dropped,
            too_far,
            forgotten,
            waiting,
        }
    }
}

/// What a gateway of several groups has carried from one into another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WayLine {
    pub from: String,
    pub to: String,
    #[serde(flatten)]
    pub way: Way,
}

/// What a gateway between groups of a node has carried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayLine {
    pub groups: Vec<String>,
    pub refused: u64,
    /// Gone from the groups before the gateway could take them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    pub ways: Vec<WayLine>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// A node of the group came or went, or says whether it hears this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    pub id: u32,
    pub state: String,
}

/// A message could not be kept here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    pub publisher: u32,
    pub id: u16,
    pub reason: String,
    /// Of one that is too long, what is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

/// A bridge's broker is there, or is lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broker {
    pub servers: String,
    pub state: String,
}

/// A client of a node has subscribed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subscribed {
    pub filter: String,
    pub subscription: u32,
}

/// It has ended a subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsubscribed {
    pub subscription: u32,
}

/// Messages of the node were withdrawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancelled {
    pub tag: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag_text: Option<String>,
    pub messages: u64,
}

/// Those who are there; who comes and goes is told from now on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Members {
    pub members: Vec<MemberLine>,
}

/// Digits of a tag that a double does not hold exactly, as JavaScript reads numbers (IEEE 754: 53 bits).
pub fn tag_text(tag: u64) -> Option<String> {
    (tag >> 53 > 0).then(|| tag.to_string())
}

/// How a node stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusLine {
    pub node: u32,
    pub members: Vec<MemberLine>,
    pub own: u64,
    pub kept: u64,
    pub kept_bytes: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub repairs_sent: u64,
    /// A node of an earlier version does not say.
    #[serde(default)]
    pub sums_sent: u64,
    /// Nor does one of a version that sends none.
    #[serde(default)]
    pub proactive_sums_sent: u64,
    #[serde(default)]
    pub answers_sent: u64,
    pub repairs_heard: u64,
    pub repairs_useful: u64,
    pub frames_refused: u64,
    pub wrong: u64,
    pub evicted: u64,
    #[serde(default)]
    pub expired: u64,
    pub missed: u64,
    #[serde(default)]
    pub drops: Drops,
    /// Of a node of several groups: all of them, and the gateways that this one is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<GatewayLine>,
}

/// One that it has heard of late.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberLine {
    pub id: u32,
    pub hears_us: Option<bool>,
}
