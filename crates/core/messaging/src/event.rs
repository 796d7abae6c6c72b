//! Events that a group node reports to its driver.

use crate::{
    description::{ContentHash, Description},
    membership::holders::Standing,
    subscription::SubscriptionId,
};
use core::ops::Range;
use fanfare_proto::{NodeId, ObjectKey};

/// A message for a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The subscription.
    pub subscription: SubscriptionId,
    /// Its object; where the description has no content, the bytes are in storage under this key
    /// until [`Event::Released`].
    pub key: ObjectKey,
    /// Bytes of the message.
    pub size: u64,
    /// Its description.
    pub description: Description,
    /// Which of its messages, when it is several as one; of one alone `0..1`.
    pub members: Range<u32>,
}

/// Something the driver or its application should know.
#[allow(missing_docs, reason = "each variant's doc names its fields")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A message is delivered.
    Message(Delivered),
    /// Nothing needs the stored bytes of this object any more.
    Released { key: ObjectKey },
    /// A message of another node is complete here and can be kept.
    Whole { key: ObjectKey, size: u64 },
    /// All bytes are in storage. The driver must check this hash and report it with
    /// [`crate::GroupNode::verdict`].
    Verify { key: ObjectKey, size: u64, hash: ContentHash },
    /// Whether another node has this watched message of ours ([`crate::GroupNode::watch`]), by its
    /// announcements. It is reported when it changes.
    Standing { key: ObjectKey, node: NodeId, standing: Standing },
    /// This node holds other messages than ours under our id and instance: another node publishes with the same. It
    /// acknowledges nothing. Told once.
    Twin { node: NodeId },
    /// A node of the group was heard for the first time, or again after it had left.
    Joined { node: NodeId },
    /// Nothing was heard of it for three of the longest intervals.
    Left { node: NodeId },
    /// It announced whether it hears this node.
    HearsUs { node: NodeId, hears: bool },
    /// An event of the NORM session.
    Session(fanfare_proto::Event),
}
