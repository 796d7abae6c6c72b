//! Commands to the receiving side.

use crate::{
    context::context,
    receiver::OnlyFrom,
    session::Session,
    storage::{ObjectKey, Storage},
    time::{Duration, Time},
};
use alloc::vec::Vec;
use core::ops::Range;
use fanfare_wire::{InstanceId, NodeId};

/// Commands to the receiving side. All are without effect in a session that does not receive.
#[derive(Debug)]
pub struct ReceiverHandle<'a> {
    pub(crate) session: &'a mut Session,
}

impl Session {
    /// Commands to the receiving side.
    pub fn receiver(&mut self) -> ReceiverHandle<'_> {
        ReceiverHandle { session: self }
    }
}

impl ReceiverHandle<'_> {
    /// With [`crate::AckPolicy::Confirmed`]: the driver holds this object, verified, for good.
    /// Watermarks may now be acknowledged past it.
    pub fn confirm(&mut self, key: ObjectKey) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.confirm(key);
        }
    }

    /// Bytes to carry in every acknowledgement of a watermark to `sender` in this instance (NRL's
    /// APP_ACK), at most 960; a longer content is refused with false.
    pub fn set_ack_content(&mut self, sender: (NodeId, InstanceId), content: Vec<u8>) -> bool {
        self.session.receiver.as_mut().is_some_and(|r| r.set_ack_content(sender, content))
    }

    /// What to answer when the roll is called, at most 960 bytes. When `announce` is set, every
    /// sender in view is told its status once now: for news that cannot wait.
    pub fn set_status(&mut self, status: Vec<u8>, announce: bool) -> bool {
        let session = &mut *self.session;
        let (now, rng) = (session.now, &mut session.rng);
        session.receiver.as_mut().is_some_and(|r| r.set_status(now, rng, status, announce))
    }

    /// Runs of datagrams that the system has dropped so far because they were not received in time.
    /// Senders of ours are told, and slow down.
    pub fn set_overruns(&mut self, overruns: u64) {
        let session = &mut *self.session;
        if let Some(receiver) = session.receiver.as_mut() {
            // It wraps on the wire.
            receiver.set_overruns(session.now, overruns as u32);
        }
    }

    /// How far behind this machine is with reading: how long the last datagram had waited. It is
    /// zero for a machine that empties its sockets now and then, however late it is scheduled.
    /// Senders that measure paths (`auto`) count it as queueing delay, so they send no more than
    /// this machine can read.
    pub fn set_behind(&mut self, behind: Duration) {
        let session = &mut *self.session;
        if let Some(receiver) = session.receiver.as_mut() {
            receiver.set_behind(session.now, behind);
        }
    }

    /// Sets a status for this sender in this instance alone, for as long as it is in view: a status is
    /// about one sender's objects. Returns false if the sender is not in view.
    pub fn set_status_to(
        &mut self,
        sender: (NodeId, InstanceId),
        status: Vec<u8>,
        announce: bool,
    ) -> bool {
        let session = &mut *self.session;
        let (now, rng) = (session.now, &mut session.rng);
        let receiver = session.receiver.as_mut();
        receiver.is_some_and(|r| r.set_status_to(now, rng, (sender, status), announce))
    }

    /// The driver holds `len` bytes of the object at `offset` already, from an earlier attempt: the
    /// symbols wholly inside are neither requested nor written. Callable any time after
    /// [`crate::Event::ObjectNew`]; [`crate::Event::ObjectCompleted`] follows when nothing is missing. They must
    /// be readable through the storage: decoding may need them. Where checking them takes time, see
    /// [`Self::examine`]. False when the object is not in view.
    pub fn have(
        &mut self,
        key: ObjectKey,
        offset: u64,
        len: u64,
        storage: &mut dyn Storage,
    ) -> bool {
        let session = &mut *self.session;
        let mut ctx = context!(session, storage);
        session.receiver.as_mut().is_some_and(|r| r.have(&mut ctx, key, (offset, len)))
    }

    /// The driver may have objects from an earlier attempt, which it will know by their NORM_INFO: of
    /// objects that nothing was heard of, that is requested first. It holds for senders not yet in
    /// view, and for those that send NORM_INFO: if five requests bring none, all is requested.
    pub fn ask_info_first(&mut self) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.ask_info_first();
        }
    }

    /// Before it is known what an earlier attempt has left: while `examined`, no content of the
    /// object is requested, but what arrives is taken. Say what there is by [`Self::have`] and end
    /// the examination: what is missing then is requested. False when the object is not in view,
    /// or when the examination ends with something missing that nobody can send: the sender has
    /// said good-bye.
    pub fn examine(&mut self, now: Time, key: ObjectKey, examined: bool) -> bool {
        self.session.advance(now);
        let session = &mut *self.session;
        let (now, rng) = (session.now, &mut session.rng);
        session.receiver.as_mut().is_some_and(|r| r.examine(now, rng, key, examined))
    }

    /// `len` bytes of the object at `offset` are wrong (their hash is): the symbols that they touch
    /// are missing again, and requested. Also after [`crate::Event::ObjectCompleted`]: the object is then
    /// written again without being opened again, may be aborted, and is told complete, and closed,
    /// once more when it is whole; a [`Self::confirm`] before counts no more. False when the object
    /// is not in view, or its sender has said good-bye: nobody can repair it then.
    pub fn reject(&mut self, now: Time, key: ObjectKey, offset: u64, len: u64) -> bool {
        self.session.advance(now);
        let session = &mut *self.session;
        let (now, rng) = (session.now, &mut session.rng);
        session.receiver.as_mut().is_some_and(|r| r.reject(now, rng, key, (offset, len)))
    }

    /// The NORM_INFO that was told of the object is wrong (a checksum in it is): it is requested, and told
    /// once more when it comes. A [`Self::confirm`] before counts no more, and an object that was told
    /// complete is told so again. False when the object is not in view, or its sender has said
    /// good-bye.
    pub fn reject_info(&mut self, now: Time, key: ObjectKey) -> bool {
        self.session.advance(now);
        let session = &mut *self.session;
        let (now, rng) = (session.now, &mut session.rng);
        session.receiver.as_mut().is_some_and(|r| r.reject_info(now, rng, key))
    }

    /// Runs (offset, length) of the object's bytes that are complete by whole blocks, lowest first,
    /// at most 64 of them: for journals. `None` when nothing is known of the object.
    #[must_use]
    pub fn ranges(&self, key: ObjectKey) -> Option<Vec<(u64, u64)>> {
        self.session.receiver.as_ref().and_then(|r| r.ranges(key))
    }

    /// Blocks, and the symbols in each, that hold these bytes of the object. Empty when nothing is known of
    /// it.
    #[must_use]
    pub fn symbols_of(&self, key: ObjectKey, offset: u64, len: u64) -> Vec<(u32, Range<u16>)> {
        self.session.receiver.as_ref().map_or_else(Vec::new, |r| r.symbols_of(key, offset, len))
    }

    /// Bytes of the object that are complete from its start, by whole blocks: for hashing as they
    /// come. O(log n). `None` when nothing is known of the object.
    #[must_use]
    pub fn first_gap(&self, key: ObjectKey) -> Option<u64> {
        self.session.receiver.as_ref().and_then(|r| r.first_gap(key))
    }

    /// Gives an object up: no more of it is requested, storage is closed.
    pub fn cancel(&mut self, key: ObjectKey, storage: &mut dyn Storage) {
        let session = &mut *self.session;
        let mut ctx = context!(session, storage);
        if let Some(receiver) = &mut session.receiver {
            receiver.cancel(&mut ctx, key);
        }
    }

    /// What is known of this object was another's word ([`crate::Event::SenderDisowned`]), and it has
    /// proved wrong: it is as if nothing had been heard of it. One that is confirmed stays.
    pub fn forget_object(&mut self, key: ObjectKey, storage: &mut dyn Storage) {
        let session = &mut *self.session;
        let mut ctx = context!(session, storage);
        if let Some(receiver) = &mut session.receiver {
            receiver.forget_object(&mut ctx, key);
        }
    }

    /// Another object has come in the place of this one: no more of it is requested, and watermarks may be
    /// acknowledged past it.
    pub fn excuse(&mut self, key: ObjectKey, storage: &mut dyn Storage) {
        self.cancel(key, storage);
        if let Some(receiver) = &mut self.session.receiver {
            receiver.excuse(key);
        }
    }

    /// Bytes of `key` received or recovered so far.
    #[must_use]
    pub fn progress(&self, key: ObjectKey) -> Option<u64> {
        self.session.receiver.as_ref().and_then(|r| r.progress(key))
    }

    /// Hears these senders only, from now on; all of them with `None`.
    pub fn hear_only(&mut self, only: Option<OnlyFrom>) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.set_admission(only);
        }
    }

    /// What `sender` said with its last roll call, which only senders of files by this library make. `None`
    /// when it has called none, or is not in view.
    #[must_use]
    pub fn called(&self, sender: NodeId) -> Option<&[u8]> {
        self.session.receiver.as_ref().and_then(|r| r.called(sender))
    }

    /// When `sender` was last heard. `None` when it is not in view.
    #[must_use]
    pub fn heard(&self, sender: NodeId) -> Option<Time> {
        self.session.receiver.as_ref().and_then(|r| r.heard(sender))
    }

    /// Loss event fraction seen from `sender`.
    #[must_use]
    pub fn loss(&self, sender: NodeId) -> Option<f64> {
        self.session.receiver.as_ref().and_then(|r| r.loss(sender))
    }
}
