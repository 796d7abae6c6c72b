//! What a member of a group tells its application, and what it has come to.

use std::net::SocketAddr;

use fanfare_messaging::{Description, GroupStats, SubscriptionId};
use fanfare_proto::{Bitrate, Duration, NodeId, ObjectKey, Stats, StorageError};

use super::{batch::MessageBatch, body::Body, gate::Permit, keeper::Damage, refusals::TooLong};
use crate::engine::Trouble;

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
    #[expect(dead_code, reason = "what counts is when it is dropped")]
    pub(crate) permit: Permit,
}

/// Messages that a subscription was to be given, and that are not kept any more: before what comes next
/// of it.
#[derive(Debug, Clone)]
pub struct Gap {
    /// Of which subscription.
    pub subscription: SubscriptionId,
    /// How many.
    pub messages: u64,
    #[expect(dead_code, reason = "what counts is when it is dropped")]
    pub(crate) permit: Permit,
}

/// Something an application may want to know.
#[allow(missing_docs, reason = "each variant's doc names its fields")]
#[derive(Debug, Clone)]
pub enum GroupEvent {
    /// A message has come.
    Message(Box<Message>),
    /// Messages that travelled together have come. Told only where they are asked for together
    /// ([`super::Group::next_batch`]).
    Batch(Box<MessageBatch>),
    /// Messages gave way, expired or were replaced while those before them were held by the application.
    Dropped(Gap),
    /// A message of this node's own that is not followed ([`super::Watch`]) has been sent once.
    Sent { key: ObjectKey },
    /// A message could not be kept here.
    Lost { key: ObjectKey, reason: StorageError, too_long: Option<TooLong> },
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
    /// `node` holds messages of another node that has this one's id and instance, and so acknowledges nothing of
    /// this one's. Told once.
    Twin { id: NodeId, node: NodeId },
    /// So many events were lost here because they were not fetched in time.
    Overrun { lost: u64 },
    /// The system refuses to send. The node goes on; said once for each kind of refusal.
    SendRefused { why: String },
    /// Nothing can be received for now. The node goes on; said once for each kind of failure.
    ReceiveFailed { why: String },
    /// The interface is there, with another address or number, again or at last: the group is joined on it.
    Rejoined { interface: String },
    /// The interface is down, or gone. Told each time.
    InterfaceDown { interface: String },
    /// The interface is up again, as it was.
    InterfaceUp { interface: String },
    /// A single host does not hear the group, or hears it again.
    Reach { code: &'static str, text: String },
    /// Datagrams were dropped because of keys. `mistake`: keys, clocks or options have to be changed
    /// somewhere. Told every ten seconds at most.
    NotOpened { code: &'static str, text: String, mistake: bool },
}

impl From<Trouble> for GroupEvent {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Overrun(lost) => Self::Overrun { lost },
            Trouble::SendRefused(why) => Self::SendRefused { why },
            Trouble::ReceiveFailed(why) => Self::ReceiveFailed { why },
            Trouble::Rejoined(interface) => Self::Rejoined { interface },
            Trouble::InterfaceDown(interface) => Self::InterfaceDown { interface },
            Trouble::InterfaceUp(interface) => Self::InterfaceUp { interface },
            Trouble::Reach { code, text } => Self::Reach { code, text },
            Trouble::NotOpened { code, text, mistake } => Self::NotOpened { code, text, mistake },
        }
    }
}

/// What its application was not given, so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Messages that were gone before a subscription could take them ([`GroupEvent::Dropped`]).
    pub dropped: u64,
    /// Messages that could not be kept ([`GroupEvent::Lost`]).
    pub unkept: u64,
    /// Events other than messages ([`GroupEvent::Overrun`]).
    pub events: u64,
}

/// What a member came to, once it has ended.
#[derive(Debug, Clone, Default)]
pub struct GroupReport {
    /// Counters of the group's machines.
    pub group: GroupStats,
    /// Counters of its session.
    pub session: Stats,
    /// What its application was not given.
    pub losses: Losses,
    /// Datagrams that the system dropped because they were not read in time.
    pub overruns: u64,
}

/// How a member stands.
#[derive(Debug, Clone)]
pub struct GroupStatus {
    /// Its id.
    pub node: NodeId,
    /// The rate at which it may send at present.
    pub rate: Bitrate,
    /// Nodes heard of late, and whether they say that they hear this one.
    pub members: Vec<(NodeId, Option<bool>)>,
    /// Those of them that listen to one source alone, which is not this node: it need not wait for them.
    pub listeners_elsewhere: Vec<NodeId>,
    /// Own messages that can still be repaired.
    pub own: u64,
    /// Others' objects that are whole here, and their bytes.
    pub kept: (u64, u64),
    /// What its application was not given.
    pub losses: Losses,
    /// Counters of the group's machines.
    pub group: GroupStats,
    /// Counters of its session.
    pub session: Stats,
}
