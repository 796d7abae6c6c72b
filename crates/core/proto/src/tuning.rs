//! Settings that an application changes while a session runs. Most programs choose them once, in
//! [`crate::SessionConfig`]; those written for other NORM libraries change them at any time.

use crate::{
    config::{JoinPolicy, Nacking},
    congestion::CongestionControl,
    context::context,
    handle::{ReceiverHandle, SenderHandle},
    sender::Sender,
    storage::{ObjectKey, Storage},
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::{InstanceId, NodeId, ObjectTransportId};

impl SenderHandle<'_> {
    /// Asks `nodes` to acknowledge this object and all before it, once that has been sent; of a stream,
    /// what was packed so far. Replaces a watermark under way. With a `question` they answer when their
    /// applications do. False when nothing of the object is cached.
    pub fn set_watermark_at(
        &mut self,
        object: ObjectTransportId,
        nodes: &[NodeId],
        question: Option<Vec<u8>>,
    ) -> bool {
        self.with(|s, now| s.set_watermark_at(now, object, nodes, question)).unwrap_or(false)
    }

    /// Asks nobody any more.
    pub fn cancel_watermark(&mut self) {
        self.with(|s, _| s.cancel_watermark());
    }

    /// Whether old bytes of a stream give way to new ones at once ([`crate::StreamPolicy::Live`]).
    pub fn set_stream_push(&mut self, stream: ObjectTransportId, push: bool) {
        self.with(|s, _| s.set_stream_push(stream, push));
    }

    /// Whether [`Self::enqueue`] would find room at `now`.
    #[must_use]
    pub fn has_room(&self, now: Time) -> bool {
        self.session.sender.as_ref().is_some_and(|sender| sender.has_room(now))
    }

    /// For so many cycles of requests, of GRTT times K + 1 each, what was sent is kept for repair, though
    /// it is in the way of something new. With 0 it goes at once.
    pub fn set_repair_cycles(&mut self, cycles: f64) {
        self.with(|s, _| s.set_repair_cycles(cycles));
    }

    /// A guess of the GRTT, until it is measured.
    pub fn set_grtt(&mut self, estimate: Duration) {
        self.with(|s, now| s.set_grtt(now, estimate));
    }

    /// The greatest GRTT that is advertised.
    pub fn set_grtt_max(&mut self, max: Duration) {
        self.with(|s, now| s.set_grtt_max(now, max));
    }

    /// Backoff factor K, and the number of receivers that is assumed.
    pub fn set_backoff(&mut self, factor: u8, group_size: u32) {
        self.with(|s, _| s.set_backoff(factor, group_size));
    }

    /// Proactive parity symbols of each block from now on; no more than a block can have.
    pub fn set_proactive(&mut self, symbols: u16) {
        self.with(|s, _| s.set_proactive(symbols));
    }

    /// Bytes of a segment of objects and streams that are enqueued from now on: the path takes longer
    /// packets, or only shorter ones. Those that were enqueued before keep theirs.
    pub fn set_segment_size(&mut self, size: u16) {
        self.with(|s, _| s.set_segment_size(size));
    }

    /// Repetitions of flushes and of requests for acknowledgement.
    pub fn set_robust_factor(&mut self, factor: u32) {
        self.with(|s, _| s.set_robust_factor(factor));
    }

    /// Objects kept for repair, and bytes of those beyond an eighth of them.
    pub fn set_cache(&mut self, objects: usize, bytes: u64) {
        self.with(|s, _| s.set_cache(objects, bytes));
    }

    /// Begins with another rate control.
    pub fn set_congestion(&mut self, control: CongestionControl) {
        self.with(|s: &mut Sender, now| s.set_congestion(now, control));
    }

    /// Begins with rate control anew, as at the start: the path is another one.
    pub fn restart_congestion(&mut self) {
        self.with(|s, now| s.restart_congestion(now));
    }
}

impl ReceiverHandle<'_> {
    /// What to request of senders that are heard for the first time from now on.
    pub fn set_join(&mut self, join: JoinPolicy) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.set_join(join);
        }
    }

    /// Objects kept in view of each sender that is heard for the first time from now on.
    pub fn set_objects_max(&mut self, objects: u16) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.set_objects_max(objects);
        }
    }

    /// Repetitions of unanswered requests, of senders that are heard for the first time from now on.
    pub fn set_robust_factor(&mut self, factor: u32) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.set_robust_factor(factor);
        }
    }

    /// What is requested of the objects that begin from now on, of senders new from now on.
    pub fn set_nacking(&mut self, nacking: Nacking) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.set_nacking(nacking);
        }
    }

    /// The same of the objects of one sender that begin from now on.
    pub fn set_sender_nacking(&mut self, sender: (NodeId, InstanceId), nacking: Nacking) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.set_sender_nacking(sender, nacking);
        }
    }

    /// The same of one object, from now on.
    pub fn set_object_nacking(&mut self, key: ObjectKey, nacking: Nacking) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.set_object_nacking(key, nacking);
        }
    }

    /// Sends the feedback to one sender to its own address (`true`), or as all others.
    pub fn set_sender_unicast(&mut self, sender: (NodeId, InstanceId), unicast: bool) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.set_sender_unicast(sender, unicast);
        }
    }

    /// Forgets a sender and all of its objects, which are aborted. When it is heard again, it is new.
    pub fn forget(&mut self, sender: NodeId, storage: &mut dyn Storage) {
        let session = &mut *self.session;
        let mut ctx = context!(session, storage);
        if let Some(receiver) = &mut session.receiver {
            receiver.forget(&mut ctx, sender);
        }
    }

    /// The round-trip time that a sender advertises. `None` when it is not in view.
    #[must_use]
    pub fn grtt(&self, sender: NodeId) -> Option<Duration> {
        self.session.receiver.as_ref().and_then(|r| r.grtt(sender))
    }

    /// The instance in which a sender was heard last. `None` when it is not in view.
    #[must_use]
    pub fn instance(&self, sender: NodeId) -> Option<InstanceId> {
        self.session.receiver.as_ref().and_then(|r| r.instance(sender))
    }

    /// Answers [`crate::Event::WatermarkRequest`], and acknowledges that watermark. False when no such
    /// request waits, or the answer has more than 960 bytes.
    pub fn answer_watermark(&mut self, sender: (NodeId, InstanceId), answer: Vec<u8>) -> bool {
        let now = self.session.now;
        let receiver = self.session.receiver.as_mut();
        receiver.is_some_and(|r| r.answer_watermark(now, sender, answer))
    }
}
