//! Receivers that repair for each other: what this node holds of a remote sender's objects, and
//! what it accepts from a peer in the sender's place ([`crate::peer_repair`] has the words for it).

use crate::{
    context::{Context, context},
    handle::ReceiverHandle,
    peer_repair::{Combination, HeldBlock, Incarnation, Retransmission, SenderSummary},
    receiver::RemoteSenders,
    storage::{ObjectKey, Storage},
    time::Time,
};
use alloc::vec::Vec;
use fanfare_wire::{Data, FieldSize, Message, NodeId};

impl ReceiverHandle<'_> {
    /// Accepts a NORM_INFO or NORM_DATA of a remote sender that a peer retransmitted. Returns true
    /// if it was new. An impossible message is refused and counted.
    pub fn accept(&mut self, now: Time, message: &Message<'_>, storage: &mut dyn Storage) -> bool {
        self.tell(now, storage, |r, ctx| r.on_retransmission(ctx, message))
    }

    /// Accepts a sum of symbols of a remote sender's block: a NORM_DATA of that block, whose symbol
    /// number is ignored. Returns true if it was new. An impossible sum is refused and counted.
    pub fn accept_combination(
        &mut self,
        now: Time,
        (data, sum): (&Data<'_>, &Combination),
        storage: &mut dyn Storage,
    ) -> bool {
        self.tell(now, storage, |r, ctx| r.on_combination(ctx, data, sum))
    }

    /// Accepts the NORM_INFO of an empty object from a peer: the object that `summary` has as the
    /// newest. Returns true if it was new. An impossible one is refused and counted.
    pub fn accept_info(
        &mut self,
        now: Time,
        summary: &SenderSummary,
        info: &[u8],
        storage: &mut dyn Storage,
    ) -> bool {
        self.tell(now, storage, |r, ctx| r.on_whole_info(ctx, summary, info))
    }

    /// A peer reports how far a sender has sent. What is missing here is then requested. Returns
    /// false if the report is not believed (another instance is known, or the number is too far
    /// away).
    pub fn hear_of(
        &mut self,
        now: Time,
        summary: &SenderSummary,
        storage: &mut dyn Storage,
    ) -> bool {
        self.tell(now, storage, |r, ctx| r.hear_of(ctx, summary))
    }

    /// Forwards a peer's report; false if this session does not receive.
    fn tell(
        &mut self,
        now: Time,
        storage: &mut dyn Storage,
        say: impl FnOnce(&mut RemoteSenders, &mut Context<'_>) -> bool,
    ) -> bool {
        self.session.advance(now);
        let session = &mut *self.session;
        let mut ctx = context!(session, storage);
        session.receiver.as_mut().is_some_and(|r| say(r, &mut ctx))
    }

    /// Requests everything that is missing of this sender's objects, although the sender is silent.
    /// Returns false if nothing is missing.
    pub fn ask(&mut self, now: Time, incarnation: Incarnation) -> bool {
        self.session.advance(now);
        let session = &mut *self.session;
        let (now, rng) = (session.now, &mut session.rng);
        session.receiver.as_mut().is_some_and(|r| r.ask(now, rng, incarnation))
    }

    /// Requests what is missing of this sender before that object, although the sender is silent: who
    /// answers for it in order has passed that over.
    pub fn ask_before(&mut self, now: Time, key: ObjectKey) {
        self.session.advance(now);
        let session = &mut *self.session;
        let (now, rng) = (session.now, &mut session.rng);
        if let Some(receiver) = session.receiver.as_mut() {
            receiver.ask_before(now, rng, key);
        }
    }

    /// Whether to request missing source symbols of this sender explicitly instead of as parity.
    /// Peers without the whole block can answer that, too.
    pub fn request_explicitly(&mut self, incarnation: Incarnation, explicitly: bool) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.request_explicitly(incarnation, explicitly);
        }
    }

    /// Whether a NACK to this sender lists everything that is missing, including what others have
    /// requested. Peers that answer with sums need to count what each receiver lacks. The NACK is
    /// still suppressed if others have requested all of it. Its requests may be eight times as long
    /// as a segment; the caller makes sure that the message fits.
    pub fn ask_in_full(&mut self, incarnation: Incarnation, in_full: bool) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.ask_in_full(incarnation, in_full);
        }
    }

    /// Makes this receiver silent (it receives, but sends nothing), or ends that.
    pub fn set_silent(&mut self, silent: bool) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.set_silent(silent);
        }
    }

    /// The instance of a sender that was heard last. Before it was heard itself, the first that
    /// peers reported.
    #[must_use]
    pub fn incarnation(&self, sender: NodeId) -> Option<Incarnation> {
        self.session.receiver.as_ref().and_then(|r| r.incarnation(sender))
    }

    /// Peers report this instance of a sender. It is believed only if the sender itself was never
    /// heard.
    pub fn hear_of_incarnation(&mut self, incarnation: Incarnation) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.hear_of_incarnation(incarnation);
        }
    }

    /// What to report to peers about an instance of a sender in view. `None` before anything of its
    /// objects was heard.
    #[must_use]
    pub fn summary(&self, incarnation: Incarnation) -> Option<SenderSummary> {
        self.session.receiver.as_ref().and_then(|r| r.summary(incarnation))
    }

    /// The number of blocks of an object, once its structure is known.
    #[must_use]
    pub fn blocks(&self, key: ObjectKey) -> Option<u32> {
        self.session.receiver.as_ref().and_then(|r| r.blocks(key))
    }

    /// The field of its code. Requests cannot be parsed without it.
    #[must_use]
    pub fn field(&self, key: ObjectKey) -> Option<FieldSize> {
        self.session.receiver.as_ref().and_then(|r| r.field(key))
    }

    /// Which symbols of a block are here.
    #[must_use]
    pub fn held(&self, key: ObjectKey, block: u32) -> Option<HeldBlock> {
        self.session.receiver.as_ref().and_then(|r| r.held(key, block))
    }

    /// Appends the message in which `key`'s sender would send this (with sequence number zero).
    /// Returns false if it is not here, or cannot be read.
    pub fn retransmit(
        &mut self,
        key: ObjectKey,
        retransmission: Retransmission<'_>,
        storage: &mut dyn Storage,
        out: &mut Vec<u8>,
    ) -> bool {
        let receiver = self.session.receiver.as_mut();
        receiver.is_some_and(|r| r.retransmit(key, retransmission, storage, out))
    }
}
