//! What a member of a group tells its application, and what it has come to.

use std::net::SocketAddr;

use fanfare_group::{Description, GroupStats, SubscriptionId};
use fanfare_proto::{NodeId, ObjectKey, Stats, StorageError};

use super::body::Body;
use crate::driver::Trouble;

/// A message for a subscription.
#[derive(Debug, Clone)]
pub struct Message {
    /// Of which subscription.
    pub subscription: SubscriptionId,
    /// Its object; `key.sender` is its publisher.
    pub key: ObjectKey,
    /// What it says of itself. Its content is in `body`.
    pub description: Description,
    /// Its bytes.
    pub body: Body,
}

/// Something an application may want to know.
#[allow(missing_docs, reason = "each variant's doc names its fields")]
#[derive(Debug, Clone)]
pub enum GroupEvent {
    /// A message has come.
    Message(Box<Message>),
    /// A message of this node's own has been sent once.
    Sent { key: ObjectKey },
    /// Another node holds it, as it says. Told once for each node, of messages that were watched.
    Held { key: ObjectKey, node: NodeId },
    /// A message could not be kept here.
    Lost { key: ObjectKey, reason: StorageError },
    /// A node of the group was heard.
    Joined { node: NodeId },
    /// It was not heard for long.
    Left { node: NodeId },
    /// It says whether it hears this node.
    HearsUs { node: NodeId, hears: bool },
    /// Another node at `other` has this node's id.
    NodeIdTaken { id: NodeId, own: SocketAddr, other: SocketAddr },
    /// So many events were lost here because they were not fetched in time.
    Overrun { lost: u64 },
    /// The system refuses to send. The node goes on; said once for each kind of refusal.
    SendRefused { why: String },
}

impl From<Trouble> for GroupEvent {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Overrun(lost) => Self::Overrun { lost },
            Trouble::SendRefused(why) => Self::SendRefused { why },
        }
    }
}

/// What a member came to, once it has ended.
#[derive(Debug, Clone, Default)]
pub struct GroupReport {
    /// Counters of the group's machines.
    pub group: GroupStats,
    /// Counters of its session.
    pub session: Stats,
    /// Datagrams that the system dropped because they were not read in time.
    pub overruns: u64,
}
