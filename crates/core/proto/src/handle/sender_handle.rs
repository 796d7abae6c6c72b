//! Commands to the sending side.

use crate::{
    congestion::Reason,
    enqueue::{EnqueueError, NewObject, Turn},
    rate::Bitrate,
    report::ReceiverReport,
    roll_call::RollCalls,
    sender::Sender,
    session::Session,
    storage::ObjectKey,
    tail_policy::TailPolicy,
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::{NodeId, ObjectTransportId, header::SenderFields};

/// Commands to the sending side. All are without effect in a session that does not send.
#[derive(Debug)]
pub struct SenderHandle<'a> {
    pub(crate) session: &'a mut Session,
}

impl Session {
    /// Commands to the sending side.
    pub fn sender(&mut self) -> SenderHandle<'_> {
        SenderHandle { session: self }
    }
}

impl SenderHandle<'_> {
    pub(crate) fn with<R>(&mut self, run: impl FnOnce(&mut Sender, Time) -> R) -> Option<R> {
        let now = self.session.now;
        self.session.sender.as_mut().map(|sender| run(sender, now))
    }

    /// Takes an object for sending. Its bytes must be readable under the returned key, through the
    /// storage, from now until [`crate::Event::ObjectPurged`].
    pub fn enqueue(&mut self, now: Time, object: NewObject) -> Result<ObjectKey, EnqueueError> {
        self.enqueue_as(now, object, None)
    }

    /// As [`Self::enqueue`]; the object takes turns with others of which the same was said. What it
    /// overtakes is told in a header extension (EXT_TURN). A receiver that skips it requests early
    /// what was overtaken, and late what has overtaken. One that joins from now on
    /// ([`crate::JoinPolicy::FromNow`]) begins with the first that it hears of: what that has overtaken is
    /// from before.
    pub fn enqueue_in_turn(
        &mut self,
        now: Time,
        object: NewObject,
        turn: Turn,
    ) -> Result<ObjectKey, EnqueueError> {
        self.enqueue_as(now, object, Some(turn))
    }

    fn enqueue_as(
        &mut self,
        now: Time,
        object: NewObject,
        turn: Option<Turn>,
    ) -> Result<ObjectKey, EnqueueError> {
        self.session.advance(now);
        let (now, session) = (self.session.now, &mut *self.session);
        let sender = session.sender.as_mut().ok_or(EnqueueError::NotASender)?;
        sender.enqueue(now, (object, turn), &mut session.events)
    }

    /// The key that the object enqueued next gets. `None` in a session that does not send.
    #[must_use]
    pub fn next_key(&self) -> Option<ObjectKey> {
        self.session.sender.as_ref().map(Sender::next_key)
    }

    /// The object enqueued next gets this id; those before it are gone. For a process that goes on
    /// where an earlier one stopped, under the same instance id: an id must never stand for two
    /// objects.
    pub fn resume_at(&mut self, object: ObjectTransportId) {
        self.with(|s, _| s.resume_at(object));
    }

    /// Sends an object that is still cached once more, whole, from its start (carousel). False when
    /// it is no longer there.
    pub fn requeue(&mut self, object: ObjectTransportId) -> bool {
        self.with(|s, now| s.requeue(now, object)).unwrap_or(false)
    }

    /// Withdraws an object: no more of it is sent, NACKs for it are answered with SQUELCH.
    pub fn cancel(&mut self, object: ObjectTransportId) -> bool {
        let (now, session) = (self.session.now, &mut *self.session);
        session.sender.as_mut().is_some_and(|s| s.cancel(now, object, &mut session.events))
    }

    /// Lets go of an object that all receivers have acknowledged. No more of it is sent; whoever asks
    /// for it later is told that it is gone.
    pub fn release(&mut self, object: ObjectTransportId) -> bool {
        let (now, session) = (self.session.now, &mut *self.session);
        session.sender.as_mut().is_some_and(|s| s.release(now, object, &mut session.events))
    }

    /// Asks `nodes` to acknowledge everything up to the end of the last object enqueued so far (of a
    /// stream: up to what was packed so far), once
    /// it has been sent. Replaces a watermark under way. Answers come as events.
    pub fn set_watermark(&mut self, nodes: &[NodeId]) {
        self.with(|s, now| s.set_watermark(now, nodes));
    }

    /// Asks one more node to acknowledge the present watermark (or the next one).
    pub fn add_acking_node(&mut self, node: NodeId) {
        self.with(|s, now| s.add_acking_node(now, node));
    }

    /// No longer asks `node`.
    pub fn remove_acking_node(&mut self, node: NodeId) {
        self.with(|s, now| s.remove_acking_node(now, node));
    }

    /// Evicts `node` for good: its feedback is ignored, no watermark waits for it, and
    /// [`Self::receivers`] marks it as evicted. It may still receive, and may use repairs for other
    /// receivers. A roll call tells evicted receivers, and they stop sending requests.
    pub fn evict(&mut self, node: NodeId) {
        self.with(|s, now| s.evict(now, node));
    }

    /// The rate follows only the reports of receivers that were named ([`Self::heed`]) from now on.
    /// For who knows whom it sends to: others are served, but cannot slow it down.
    pub fn heed_only_named(&mut self) {
        self.with(|s, _| s.heed_only_named());
    }

    /// Names `node` as one whose reports the rate follows.
    pub fn heed(&mut self, node: NodeId) {
        self.with(|s, _| s.heed(node));
    }

    /// Defers `node`: its requests are counted ([`crate::DropReason::Deferred`]) but not served
    /// until the first pass of all objects is done and the other receivers have requested nothing
    /// for two NACK cycles. By then it requests again what it lacks. With `false` it is served like
    /// all others again.
    pub fn defer(&mut self, node: NodeId, defer: bool) {
        self.with(|s, _| s.defer(node, defer));
    }

    /// Finishes receivers that are much slower than the others after those, by itself, as `policy` says.
    /// Their reports do not lower the rate meanwhile. `None`: no longer.
    pub fn set_tail(&mut self, policy: Option<TailPolicy>) {
        self.with(|s, _| s.set_tail(policy));
    }

    /// `node` needs nothing more. When all others are finished those that were deferred are served, and
    /// compared with each other.
    pub fn finish(&mut self, node: NodeId) {
        self.with(|s, now| s.finish(now, node));
    }

    /// Calls the roll: now and then CMD(APPLICATION) asks all receivers of ours that are not yet
    /// known to answer with their status. `None` stops. Receivers that have answered are named in
    /// the call, so that they keep silent.
    pub fn set_roll_call(&mut self, calls: Option<RollCalls>) {
        self.with(|s, now| s.set_roll_call(now, calls));
    }

    /// The time by which all receivers that heard the last roll call should have answered, unless
    /// they are farther away than those that answered. `None` if there is no roll call.
    #[must_use]
    pub fn answered_by(&self) -> Option<Time> {
        self.session.sender.as_ref()?.answered_by(self.session.now)
    }

    /// Sets the rate. For congestion control it is the upper limit.
    pub fn set_rate(&mut self, rate: Bitrate) {
        self.with(|s, now| s.set_rate(now, rate));
    }

    /// Makes this the rate at present. Congestion control adapts it from there.
    pub fn put_rate(&mut self, rate: Bitrate) {
        self.with(|s, now| s.put_rate(now, rate));
    }

    /// Lowers the rate for a moment, for example until other streams have slowed down. Unlike
    /// [`Self::set_rate`] it does not change timers that are computed from the rate.
    pub fn set_ceiling(&mut self, ceiling: Option<Bitrate>) {
        self.with(|s, _| s.set_ceiling(ceiling));
    }

    /// Just so many receivers listen from now on, as the driver knows who hears them otherwise; `None`:
    /// nobody knows. The round trip to a few is measured before anything is sent, they need not
    /// leave time to each other, and each request is served at once.
    pub fn set_few(&mut self, few: Option<usize>) {
        self.with(|s, _| s.set_few(few));
    }

    /// Whether objects of no bytes, whose NORM_INFO says all, are flushed (at first they are). Where others
    /// repeat what this sender says, that tells of them, too.
    pub fn set_flushes_infos(&mut self, flushes: bool) {
        self.with(|s, _| s.set_flushes_infos(flushes));
    }

    /// Each flush has so many messages from now on, at least one ([`crate::SenderConfig::robust_factor`]).
    pub fn set_flushes(&mut self, flushes: u32) {
        self.with(|s, _| s.set_flushes(flushes));
    }

    /// After the first few, probes are at least `min` apart from now on, or what was configured, and settle at intervals
    /// of at most `max` ([`crate::SenderConfig::probe_max`]).
    pub fn set_probe_range(&mut self, min: Duration, max: Duration) {
        self.with(|s, _| s.set_probe_range(min, max));
    }

    /// Somebody is new who may listen: where no round trip was measured yet, one is soon.
    pub fn on_newcomer(&mut self) {
        self.with(|s, now| s.on_newcomer(now));
    }

    /// Whether data or repairs wait to be sent.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.session.sender.as_ref().is_some_and(Sender::has_data)
    }

    /// Whether anything waits to be sent that is no repair.
    #[must_use]
    pub fn has_new(&self) -> bool {
        self.session.sender.as_ref().is_some_and(Sender::has_new)
    }

    /// Whether a short object that came while nothing waited is to go now, before repairs.
    #[must_use]
    pub fn has_prompt(&self) -> bool {
        self.session.sender.as_ref().is_some_and(Sender::has_prompt)
    }

    /// Keeps at most so many bytes of computed parity from now on, or one symbol.
    pub fn set_parity_cache(&mut self, max: usize) {
        self.with(|s, _| s.set_parity_cache(max));
    }

    /// Whether more room for parity would have been of use since this was asked last.
    pub fn take_parity_shortage(&mut self) -> bool {
        self.with(|s, _| s.take_parity_shortage()).unwrap_or(false)
    }

    /// The rate at present.
    #[must_use]
    pub fn rate(&self) -> Bitrate {
        self.session.sender.as_ref().map(Sender::rate).unwrap_or_default()
    }

    /// Why the rate is what it is.
    #[must_use]
    pub fn rate_reason(&self) -> Reason {
        self.session.sender.as_ref().map_or(Reason::Set, Sender::reason)
    }

    /// The GRTT at present, as advertised.
    #[must_use]
    pub fn grtt(&self) -> Duration {
        self.session.sender.as_ref().map(Sender::grtt).unwrap_or_default()
    }

    /// What a message that the driver sends beside the session's begins with: receivers count this
    /// sender's messages, so each call uses up a number. `None` in a session that does not send.
    pub fn next_fields(&mut self) -> Option<SenderFields> {
        self.with(|s, _| s.next_fields())
    }

    /// A message of the driver's own, of so many bytes, has gone in the place of one of the session's
    /// ([`Session::next_turn`]).
    pub fn on_spoken(&mut self, bytes: usize) {
        self.with(|s, now| s.on_own(now, bytes));
    }

    /// Objects without bytes of which NORM_INFO, all that they have, was requested and is to go now, oldest
    /// first.
    #[must_use]
    pub fn info_repairs(&self) -> Vec<ObjectTransportId> {
        self.session.sender.as_ref().map(Sender::info_repairs).unwrap_or_default()
    }

    /// The driver answers for this one of [`Self::info_repairs`]: it counts as sent again.
    pub fn take_info_repair(&mut self, object: ObjectTransportId) {
        self.with(|s, now| s.take_info_repair(now, object));
    }

    /// It goes as it is after all.
    pub fn give_info_repair(&mut self, object: ObjectTransportId) {
        self.with(|s, _| s.give_info_repair(object));
    }

    /// As [`Self::on_spoken`], of a message that answers what was taken so.
    pub fn on_answered(&mut self, bytes: usize) {
        self.with(|s, now| s.on_own_repair(now, bytes));
    }

    /// Another node was heard to repair a block of an object of this sender's, with a symbol or with a sum of several: of
    /// what was requested so much less is sent. Whoever does not hear that node asks again, and is then served in full.
    pub fn on_repaired(&mut self, object: ObjectTransportId, block: u32, symbol: Option<u16>) {
        self.with(|s, _| s.on_repaired(object, (block, symbol)));
    }

    /// Another node was heard to say the NORM_INFO of an object of this sender's in its place: the same.
    pub fn on_info_repaired(&mut self, object: ObjectTransportId) {
        self.with(|s, _| s.on_info_repaired(object));
    }

    /// Holds data back (probes and roll calls still go), or lets it go.
    pub fn hold(&mut self, hold: bool) {
        self.with(|s, now| s.hold(now, hold));
    }

    /// Says good-bye: CMD(EOT), a few times. Nothing else is sent afterwards.
    pub fn end(&mut self) {
        self.with(Sender::end);
    }

    /// Whether all that was enqueued has been sent, repaired as asked, flushed, and said good-bye.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.session.sender.as_ref().is_none_or(Sender::is_idle)
    }

    /// Source bytes of the first pass sent so far, over all objects. What is sent on demand is
    /// repair, and does not count.
    #[must_use]
    pub fn progress(&self) -> u64 {
        self.session.sender.as_ref().map_or(0, Sender::progress)
    }

    /// What is known of each receiver heard so far.
    #[must_use]
    pub fn receivers(&self) -> Vec<ReceiverReport> {
        self.session.sender.as_ref().map(Sender::receivers).unwrap_or_default()
    }
}
