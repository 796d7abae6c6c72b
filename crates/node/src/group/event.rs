//! What a member of a group tells its application, and what it has come to.

use std::net::SocketAddr;

use fanfare_group::{Description, GroupStats, Standing, SubscriptionId};
use fanfare_proto::{Duration, NodeId, ObjectKey, Stats, StorageError};

use super::{body::Body, keeper::Damage};
use crate::driver::Trouble;

/// A message for a subscription.
#[derive(Debug, Clone)]
pub struct Message {
    /// Of which subscription.
    pub subscription: SubscriptionId,
    /// Its object; `key.sender` is its publisher, or the gateway that brought it
    /// ([`Description::identity`] says who published it first).
    pub key: ObjectKey,
    /// What it says of itself. Its content is in `body`.
    pub description: Description,
    /// Its bytes.
    pub body: Body,
    /// How long before this it was first heard of.
    pub age: Duration,
}

/// Something an application may want to know.
#[allow(missing_docs, reason = "each variant's doc names its fields")]
#[derive(Debug, Clone)]
pub enum GroupEvent {
    /// A message has come.
    Message(Box<Message>),
    /// A message of this node's own has been sent once.
    Sent { key: ObjectKey },
    /// How another node stands to it, as it says. Told when it changes, of messages that were watched.
    Standing { key: ObjectKey, node: NodeId, standing: Standing },
    /// A message could not be kept here.
    Lost { key: ObjectKey, reason: StorageError },
    /// What is kept does not outlive the process, and why.
    NotDurable { why: String },
    /// It outlives the process again; so many messages that came meanwhile do not.
    Durable { unkept: u64 },
    /// Of what an earlier life had kept, something is not what it was.
    Damaged(Damage),
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
    /// Nothing can be received for now. The node goes on; said once for each kind of failure.
    ReceiveFailed { why: String },
    /// The interface had gone and is there again: the group is joined on it anew.
    Rejoined { interface: String },
}

impl From<Trouble> for GroupEvent {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Overrun(lost) => Self::Overrun { lost },
            Trouble::SendRefused(why) => Self::SendRefused { why },
            Trouble::ReceiveFailed(why) => Self::ReceiveFailed { why },
            Trouble::Rejoined(interface) => Self::Rejoined { interface },
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

/// How a member stands.
#[derive(Debug, Clone)]
pub struct GroupStatus {
    /// Its id.
    pub node: NodeId,
    /// Nodes heard of late, and whether they say that they hear this one.
    pub members: Vec<(NodeId, Option<bool>)>,
    /// Own messages that can still be repaired.
    pub own: u64,
    /// Others' objects that are whole here, and their bytes.
    pub kept: (u64, u64),
    /// Counters of the group's machines.
    pub group: GroupStats,
    /// Counters of its session.
    pub session: Stats,
}
