//! Events that a session reports to its driver.

use super::storage_error::StorageError;
use crate::types::storage::{ObjectKey, ObjectKind};
use alloc::{collections::VecDeque, vec::Vec};
use core::net::SocketAddr;
use fanfare_wire::{InstanceId, NodeId, ObjectTransportId};

/// Something the driver or its application should know.
#[allow(missing_docs, reason = "each variant's doc names its fields")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Another node at `source` uses this node's id. It is reported once for each address, and
    /// again when that node has `acknowledged` a watermark with the id.
    NodeIdTaken { source: SocketAddr, acknowledged: bool },
    /// Receiving: a sender was heard and confirmed as one.
    SenderNew { sender: NodeId, instance: InstanceId, source: SocketAddr },
    /// Receiving: the sender restarted with a new instance id. Objects of the old instance are
    /// aborted.
    SenderReset { sender: NodeId, instance: InstanceId },
    /// Receiving: another host had been taken for this sender, and had spoken while the true one did.
    /// What it told of objects that are not whole is forgotten; so is what the driver found wrong, when
    /// it says so.
    SenderDisowned { sender: NodeId, instance: InstanceId },
    /// Receiving: nothing was heard of it for the whole inactivity period.
    SenderInactive { sender: NodeId },
    /// Receiving: it said that it leaves (CMD(EOT)).
    SenderEnded { sender: NodeId },
    /// Receiving: an object began; its size is known.
    ObjectNew { key: ObjectKey, kind: ObjectKind, size: u64, has_info: bool },
    /// Receiving: the object's NORM_INFO arrived.
    ObjectInfo { key: ObjectKey, info: Vec<u8> },
    /// Receiving: all bytes (and INFO, when it has one) are in storage.
    ObjectCompleted { key: ObjectKey, size: u64 },
    /// Receiving: of a stream that was read to where nothing more was, more is there now: bytes, a gap
    /// or the end.
    StreamReadable { key: ObjectKey },
    /// Receiving: an object is larger than this receiver's limit. `info` is its NORM_INFO if that
    /// came first. It is reported a few times before the object is aborted as refused.
    ObjectTooLong { key: ObjectKey, size: u64, info: Option<Vec<u8>> },
    /// Receiving: it will not be completed.
    ObjectAborted { key: ObjectKey, reason: AbortReason },
    /// Receiving: the object is from before this receiver joined, and can no longer be repaired.
    ObjectSkipped { key: ObjectKey },
    /// Receiving: objects before `oldest` left the window. Of `missed` of them nothing ever
    /// arrived, not counting those from before this receiver joined.
    ObjectsMissed { oldest: ObjectKey, missed: u64 },
    /// Receiving: the sender has evicted this receiver (`SenderHandle::evict`). Data is
    /// still accepted, but nothing is requested any more.
    Evicted { sender: NodeId },
    /// Receiving: a sender that is not heard (`OnlyFrom`) was there. It is reported once. While
    /// nobody is heard, `invitation` is what a roll call said, and it is reported each time.
    SenderRefused { sender: NodeId, source: SocketAddr, invitation: Option<Vec<u8>> },
    /// Receiving: an application command of a sender.
    Command { sender: NodeId, content: Vec<u8> },
    /// Receiving: a watermark with a question of the sender's application is reached. It is
    /// acknowledged when `ReceiverHandle::answer_watermark` gives the answer.
    WatermarkRequest { sender: NodeId, content: Vec<u8> },

    /// Sending: first feedback from this receiver.
    ReceiverNew { node: NodeId, source: SocketAddr },
    /// Sending: a receiver answered the roll call, or reported its state, in the driver's words.
    ReceiverStatus { node: NodeId, status: Vec<u8> },
    /// Sending: a receiver acknowledged the watermark; `app` are its APP_ACK bytes (padded).
    WatermarkAck { node: NodeId, object: ObjectTransportId, app: Vec<u8> },
    /// Sending: the watermark process ended for all nodes.
    WatermarkDone { outcomes: Vec<(NodeId, WatermarkOutcome)> },
    /// Sending: the object has been sent once in full; its INFO has, with
    /// [`crate::types::enqueue::FirstPass::OnDemand`].
    ObjectSent { key: ObjectKey },
    /// Sending: a stream that took less than was offered has room again.
    StreamWritable { key: ObjectKey },
    /// Sending: the object left the cache; it can no longer be repaired.
    ObjectPurged { key: ObjectKey },
    /// Sending: everything enqueued was sent and the last flush has ended.
    FlushDone,
}

/// How the watermark ended for one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatermarkOutcome {
    /// It acknowledged.
    Acknowledged,
    /// It did not answer the robust number of requests.
    Unanswered,
}

/// Why an object was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbortReason {
    /// The sender can no longer repair it.
    Squelched,
    /// The sender restarted, ended, or stayed silent.
    SenderGone,
    /// The driver's storage refused or failed.
    Storage(StorageError),
    /// It left the window of objects in view.
    Window,
    /// Its sender has never sent it: another host had told of it. Should it come all the same, it begins
    /// anew.
    Unsent,
    /// The driver cancelled it.
    Cancelled,
}

/// The bounded queue between session and driver.
#[derive(Debug)]
pub struct EventQueue {
    queue: VecDeque<Event>,
    max: usize,
    /// Events that found no room.
    pub dropped: u64,
}

impl EventQueue {
    /// An empty queue with room for so many.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { queue: VecDeque::new(), max, dropped: 0 }
    }

    /// Something has happened.
    pub fn push(&mut self, event: Event) {
        if self.queue.len() < self.max {
            self.queue.push_back(event);
        } else {
            self.dropped += 1;
        }
    }

    /// What has happened first of what is not taken yet.
    pub fn pop(&mut self) -> Option<Event> {
        self.queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_and_counts() {
        let mut queue = EventQueue::new(1);
        queue.push(Event::FlushDone);
        queue.push(Event::FlushDone);
        assert_eq!((queue.pop(), queue.pop(), queue.dropped), (Some(Event::FlushDone), None, 1));
    }
}
