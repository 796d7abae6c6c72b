//! What members of a group of messages tell.

use std::collections::BTreeMap;

use fanfare_node::gateway::GatewayStats;
use serde::{Deserialize, Serialize};

/// A message was taken for sending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    pub(crate) topic: String,
    pub(crate) id: u16,
    pub(crate) size: u64,
    /// How many it is, where several travel together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) messages: Option<u32>,
}

/// All of a message of ours has been on its way once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sent {
    pub(crate) id: u16,
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
    /// Which life of the publisher; a node of an earlier version does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instance: Option<u16>,
    pub(crate) number: u64,
    /// Who brought it, and how many gateways it has passed, where it was not its publisher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gateway: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hops: Option<u8>,
    pub(crate) size: u64,
    pub(crate) priority: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<u64>,
    /// The same in digits, where not every reader's numbers are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tag_text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// So many bytes of content follow the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
}

/// Messages of a subscription were gone before they could be handed over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dropped {
    pub(crate) subscription: u32,
    pub(crate) messages: u64,
}

/// What was not done, or not obeyed, and why: each with its count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Drops {
    pub(crate) messages: u64,
    pub(crate) unkept: u64,
    pub(crate) events: u64,
    pub(crate) sums: u64,
    pub(crate) demands: u64,
    pub(crate) members: u64,
    pub(crate) publishers: u64,
    pub(crate) origins: u64,
    pub(crate) relays: u64,
    pub(crate) standings: u64,
    pub(crate) tags: u64,
    pub(crate) deadlines: u64,
    pub(crate) datagrams: BTreeMap<String, u64>,
}

/// What a gateway has carried one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Way {
    pub(crate) carried: u64,
    pub(crate) bytes: u64,
    pub(crate) left: u64,
    pub(crate) doubled: u64,
    pub(crate) expired: u64,
    pub(crate) replaced: u64,
    pub(crate) dropped: u64,
    pub(crate) too_far: u64,
    pub(crate) forgotten: u64,
    pub(crate) waiting: u64,
}

impl From<GatewayStats> for Way {
    fn from(stats: GatewayStats) -> Self {
        let GatewayStats { carried, bytes, left, doubled, expired, .. } = stats;
        let GatewayStats { replaced, dropped, too_far, forgotten, waiting, .. } = stats;
        Self {
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
pub(crate) struct WayLine {
    pub(crate) from: String,
    pub(crate) to: String,
    #[serde(flatten)]
    pub(crate) way: Way,
}

/// What a gateway between groups of a node has carried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GatewayLine {
    pub(crate) groups: Vec<String>,
    pub(crate) refused: u64,
    pub(crate) ways: Vec<WayLine>,
}

/// A node of the group came or went, or says whether it hears this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Member {
    pub(crate) id: u32,
    pub(crate) state: String,
}

/// A message could not be kept here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lost {
    pub(crate) publisher: u32,
    pub(crate) id: u16,
    pub(crate) reason: String,
    /// Of one that is too long, what is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max: Option<u64>,
}

/// A bridge's broker is there, or is lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Broker {
    pub(crate) servers: String,
    pub(crate) state: String,
}

/// A client of a node has subscribed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subscribed {
    pub(crate) filter: String,
    pub(crate) subscription: u32,
}

/// It has ended a subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unsubscribed {
    pub(crate) subscription: u32,
}

/// Messages of the node were withdrawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancelled {
    pub(crate) tag: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tag_text: Option<String>,
    pub(crate) messages: u64,
}

/// Those who are there; who comes and goes is told from now on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Members {
    pub(crate) members: Vec<MemberLine>,
}

/// Digits of a tag that a double does not hold exactly, as JavaScript reads numbers (IEEE 754: 53 bits).
pub(crate) fn tag_text(tag: u64) -> Option<String> {
    (tag >> 53 > 0).then(|| tag.to_string())
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
    /// A node of an earlier version does not say.
    #[serde(default)]
    pub(crate) sums_sent: u64,
    /// Nor does one of a version that sends none.
    #[serde(default)]
    pub(crate) proactive_sums_sent: u64,
    #[serde(default)]
    pub(crate) answers_sent: u64,
    pub(crate) repairs_heard: u64,
    pub(crate) repairs_useful: u64,
    pub(crate) frames_refused: u64,
    pub(crate) wrong: u64,
    pub(crate) evicted: u64,
    #[serde(default)]
    pub(crate) expired: u64,
    pub(crate) missed: u64,
    #[serde(default)]
    pub(crate) drops: Drops,
    /// Of a node of several groups: all of them, and the gateways that this one is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) groups: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) gateways: Vec<GatewayLine>,
}

/// One that it has heard of late.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemberLine {
    pub(crate) id: u32,
    pub(crate) hears_us: Option<bool>,
}
