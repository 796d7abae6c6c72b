//! What becomes of each object: announced, examined, received, verified.

use crate::content::{
    announcement::{Announcement, Details, ObjectMark, Turn, is_changed},
    invitation::Invitation,
    manifest::{Head, Manifest},
    receipt::Reason,
};
use fanfare_crypto::policy::Refused;
use fanfare_proto::{AbortReason, ObjectKey, ObjectTransportId, Session, StorageError, Time};

use super::{
    ReceiveJob, SenderFilter,
    record::{OpenObject, StreamState},
};
use crate::event::Outbox;

use crate::{
    event::{ReceiveEvent, TransferEvent},
    file_storage::FileStorage,
    verify::{Fault, Job, Origin, Verdict},
};

/// Mark and size of an object, as NORM_INFO of a sender of ours tells them.
struct ToldObject {
    of: Option<ObjectMark>,
    size: u64,
}

impl ToldObject {
    fn read(announcement: &Announcement, head: Option<&Head>) -> Option<Self> {
        let of_file = announcement.details.as_ref().map(|d| Self { of: d.of, size: d.size });
        of_file.or_else(|| head.map(|head| Self { of: head.of, size: head.body_len() }))
    }
}

/// Files that an announcement tells of.
fn files_in(info: &[u8]) -> u64 {
    if Head::parse(info).is_some() {
        return 0;
    }
    Announcement::parse(info).details.map_or(1, |details| details.files.unwrap_or(1))
}

/// True of an object that is one file: if it is long, its sender tells the zeros of it.
fn has_manifest(details: &Details) -> bool {
    !details.is_pack() && !details.comes_last() && details.as_piece().is_none()
}

impl ReceiveJob {
    pub(super) fn on_object(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        (size, has_info): (u64, bool),
        out: &mut Outbox,
    ) {
        if self.record_of(key).evicted {
            session.receiver().cancel(key, storage);
            return;
        }
        if !self.may_begin(key, has_info) {
            return self.refuse_signer(session, storage, key, out);
        }
        if !self.binds_late(key) {
            self.bind(session, key, out);
        }
        let mut object = OpenObject::new(size, now);
        // Whether it is the one whose part is here, NORM_INFO tells. Were it asked for meanwhile,
        // it would be sent.
        let short = storage.is_short(key);
        let may_resume =
            has_info && (short || storage.may_resume(key, size) || self.may_find_piece(size));
        if may_resume {
            object.origin = Origin::Elsewhere;
        }
        let record = self.record_of(key);
        record.is_back();
        record.open.insert(key, object);
        if may_resume {
            session.receiver().examine(now, key, true);
        }
        self.update_status(session, key, false);
        // Without an announcement nobody has signed it.
        let unsigned = self.needs_signer() && !has_info;
        if unsigned || self.is_beyond_limits(key, 0) {
            return self.refuse(now, session, storage, key, out);
        }
        if short && !has_info {
            // No manifest will tell that it needs less.
            let full = Reason::of_storage(StorageError::Full);
            return self.give_up(now, session, storage, key, full, out);
        }
        let is_told = !has_info && !self.is_of_ours(session, key);
        if is_told && !self.is_shadow(key.sender, key.instance) {
            out.push(TransferEvent::Receive(ReceiveEvent::Object { key, name: None, size }));
        }
    }

    /// Whether the sender is one of ours: they announce each file with its hash, so that an announcement
    /// without one was changed on the way.
    fn is_of_ours(&mut self, session: &mut Session, key: ObjectKey) -> bool {
        self.record_of(key).nonce.is_some() || session.receiver().called(key.sender).is_some()
    }

    /// A sender of ours announces a hash, and this came without one, or for another object: somebody has changed it
    /// on the way, and it is asked for again. What has arrived of the object stays.
    fn asks_announcement(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
    ) -> bool {
        let record = self.record_of(key);
        let is_patient = record.mended(key.object.0).on_wrong_announcement(now);
        let Some(object) = record.open.get_mut(&key).filter(|_| is_patient) else { return false };
        object.asks_announcement = true;
        storage.reopen(key);
        session.receiver().reject_info(now, key)
    }

    fn on_not_permitted(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        (key, refused): (ObjectKey, Refused),
        out: &mut Outbox,
    ) {
        match refused {
            Refused::Unknown | Refused::NotAllowed => {
                self.refuse_signer(session, storage, key, out);
            }
            Refused::TooLarge | Refused::TooMuch => self.refuse(now, session, storage, key, out),
        }
    }

    pub(super) fn on_info(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        info: &[u8],
        out: &mut Outbox,
    ) {
        if !self.record_of(key).open.contains_key(&key) {
            return;
        }
        if !self.is_from_whom(info) {
            return self.refuse_signer(session, storage, key, out);
        }
        let Some(size) = self.record_of(key).open.get(&key).map(|object| object.size) else {
            return;
        };
        let (announcement, head) = (Announcement::parse(info), Head::parse(info));
        let told = ToldObject::read(&announcement, head.as_ref());
        let is_right = match &told {
            Some(told) => told.of.is_none_or(|of| of == ObjectMark::of(key)),
            None => !(is_changed(info) || self.is_of_ours(session, key)),
        };
        if !is_right {
            if !self.asks_announcement(now, session, storage, key) {
                session.receiver().cancel(key, storage);
                self.fail_unless_invented(now, session, storage, key, out);
            }
            return;
        }
        let is_other = told.is_some_and(|told| told.of.is_some() && told.size != size);
        if is_other && self.record_of(key).mended(key.object.0).on_wrong_announcement(now) {
            // What its messages said of its size was changed on the way.
            return self.begin_anew(session, storage, key);
        }
        if let Err(refused) = self.permit(key, info, (size, files_in(info))) {
            return self.on_not_permitted(now, session, storage, (key, refused), out);
        }
        if self.binds_late(key) {
            self.bind(session, key, out);
        }
        let Some(object) = self.record_of(key).open.get_mut(&key) else { return };
        object.signed = true;
        object.asks_announcement = false;
        object.manifest = head.filter(|head| head.body_len() == object.size);
        if let Some(head) = &object.manifest {
            object.turn = head.turn;
            let nonce = head.nonce;
            return self.record_of(key).on_nonce(nonce);
        }
        self.record_of(key).announced += 1;
        let signed = announcement.details.as_ref().is_some_and(|d| d.signer.is_some());
        self.record_of(key).signed |= signed;
        let Some(object) = self.record_of(key).open.get_mut(&key) else { return };
        object.signed = true;
        let (name, size) = (announcement.shown_name(), object.size);
        object.announcement = Some(announcement.clone());
        let details = announcement.details.filter(|d| d.size == size);
        self.record_of(key).on_nonce(details.as_ref().and_then(|details| details.nonce));
        if storage.is_short(key) && !details.as_ref().is_some_and(has_manifest) {
            let full = Reason::of_storage(StorageError::Full);
            return self.give_up(now, session, storage, key, full, out);
        }
        if details.as_ref().is_some_and(|details| details.as_piece().is_some()) {
            return self.on_piece(now, session, storage, key, out);
        }
        if let Some((turn, root)) = details.as_ref().and_then(|d| Some((d.turn?, d.root)))
            && self.is_repeated(now, session, storage, key, (turn, &root, size))
        {
            return;
        }
        if let Some(instead) = details.as_ref().and_then(|details| details.instead) {
            self.on_replacement(session, storage, key, instead);
        }
        let files = details.as_ref().map_or(1, |details| details.files.unwrap_or(1));
        let is_unknown = details.as_ref().is_some_and(Details::is_unknown);
        if is_unknown || self.is_beyond_limits(key, files) {
            return self.refuse(now, session, storage, key, out);
        }
        self.record_of(key).taken_files += files;
        out.push(TransferEvent::Receive(ReceiveEvent::Object { key, name, size }));
        if let Some(details) = details {
            let found = self.claim(now, session, storage, key, (&announcement.name, &details));
            if let Err(error) = found {
                self.give_up(now, session, storage, key, Reason::of_storage(error), out);
            }
        } else {
            // No part can be this object's.
            self.stop_examining(now, session, key);
        }
        self.refresh_parts(session, storage);
        self.update_status(session, key, false);
    }

    /// It is not signed by whom the user named: nothing of it is kept, and its sender is told nothing.
    fn refuse_signer(
        &mut self,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        out: &mut Outbox,
    ) {
        storage.distrust(key);
        session.receiver().cancel(key, storage);
        self.record_of(key).open.remove(&key);
        self.binding.refused += 1;
        if let Some(source) = self.binding.source(key.sender) {
            let refused = ReceiveEvent::SenderRefused { id: key.sender, source };
            out.push(TransferEvent::Receive(refused));
        }
    }

    /// What an object was made of has changed: it is not wanted any more.
    fn on_replacement(
        &mut self,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        instead: u16,
    ) {
        let old = ObjectKey { object: ObjectTransportId(instead), ..key };
        let record = self.record_of(key);
        record.replaced.insert(instead);
        if record.open.get(&old).is_some_and(|object| !object.verifying && !object.examined) {
            record.open.remove(&old);
            storage.settle(old, false);
        }
        if !self.record_of(key).open.contains_key(&old) {
            session.receiver().excuse(old, storage);
        }
    }

    /// Nothing of the object can be kept, for this reason: its sender is told.
    pub(super) fn give_up(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        reason: Reason,
        out: &mut Outbox,
    ) {
        self.fail(now, session, storage, key, reason, out);
        session.receiver().cancel(key, storage);
    }

    /// It is more than the user takes of one transfer.
    fn refuse(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        out: &mut Outbox,
    ) {
        storage.distrust(key);
        session.receiver().cancel(key, storage);
        self.fail(now, session, storage, key, Reason::Refused, out);
    }

    /// Notes which object of a carousel this is. What was held in an earlier round is held.
    fn is_repeated(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        (turn, root, size): (Turn, &[u8; 32], u64),
    ) -> bool {
        let record = self.record_of(key);
        let repeats = record.on_turn(turn, root);
        let Some(object) = record.open.get_mut(&key) else { return false };
        object.turn = Some(turn);
        object.repeats = repeats;
        if repeats {
            session.receiver().have(key, 0, size, storage);
            self.stop_examining(now, session, key);
        }
        repeats
    }

    pub(super) fn stop_examining(&mut self, now: Time, session: &mut Session, key: ObjectKey) {
        if let Some(object) = self.record_of(key).open.get_mut(&key)
            && object.origin != Origin::Received
        {
            object.origin = Origin::Received;
            session.receiver().examine(now, key, false);
        }
    }

    /// Hands what there is of an object to the verifier; false when it cannot be had.
    pub(super) fn verify(&mut self, storage: &mut FileStorage, key: ObjectKey, size: u64) -> bool {
        let Some(object) = self.record_of(key).open.get_mut(&key) else { return false };
        let (announcement, origin) = (object.announcement.clone(), object.origin);
        let details = announcement.as_ref().and_then(|a| a.details.as_ref());
        let manifest = details.and_then(|details| storage.manifest(&details.root));
        let Some(part) = storage.finished(key) else { return false };
        let conflict = self.options.conflict;
        self.waiting.push_back(Job { key, size, part, announcement, conflict, manifest, origin });
        self.submit();
        true
    }

    pub(super) fn on_completed(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        size: u64,
        out: &mut Outbox,
    ) {
        let record = self.record_of(key);
        if record.is_replaced(key) {
            storage.settle(key, false);
            return session.receiver().excuse(key, storage);
        }
        if record.is_given_up(key) {
            // It was whole before it was refused.
            return;
        }
        if !self.record_of(key).open.contains_key(&key)
            && session.receiver().progress(key).is_none()
        {
            // It was forgotten meanwhile, and comes anew.
            return;
        }
        let new = || OpenObject::new(size, now);
        let object = self.record_of(key).open.entry(key).or_insert_with(new);
        if let Some(head) = object.manifest.clone() {
            return self.on_manifest(now, session, storage, key, head, out);
        }
        let signed = object.signed;
        if self.binds_late(key) && !signed {
            return self.refuse_signer(session, storage, key, out);
        }
        let is_of_ours = self.is_of_ours(session, key);
        let has_broken_stream = self.record_of(key).has_broken_stream();
        let Some(object) = self.record_of(key).open.get_mut(&key) else { return };
        if object.as_piece().is_some() {
            return self.on_piece_whole(now, session, storage, key, out);
        }
        if object.repeats {
            return self.on_repeated(session, storage, key);
        }
        if let Some(held) = object.held.take() {
            return self.on_held(now, session, storage, key, held, out);
        }
        let is_announced = object.announcement.as_ref().is_some_and(|a| a.details.is_some());
        if !is_announced && has_broken_stream {
            // Its announcement came, and it was dropped as a piece.
            return self.drop_piece(session, storage, key, false);
        }
        if !is_announced && (is_of_ours || object.asks_announcement) {
            if self.asks_announcement(now, session, storage, key) {
                return;
            }
            return self.fail_unless_invented(now, session, storage, key, out);
        }
        object.verifying = true;
        object.awaits_manifest = None;
        // All of it has come while it was examined: that ends first.
        if object.examined {
            return;
        }
        if object.is_listing() {
            return self.on_listing(session, key);
        }
        if object.is_tree() {
            return self.on_tree(session, key);
        }
        // Of a pack that was claimed, it is still to be told what is here.
        if !matches!(object.origin, Origin::Claimed | Origin::Head) {
            object.origin = Origin::Received;
        }
        if self.verify(storage, key, size) {
            self.update_status(session, key, false);
        } else {
            self.fail(now, session, storage, key, Reason::DiskError, out);
        }
    }

    fn on_manifest(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        head: Head,
        out: &mut Outbox,
    ) {
        let body = storage.take_small(key).unwrap_or_default();
        let Some(manifest) = Manifest::from_body(head, &body) else {
            return self.mend_manifest(now, (session, storage), key, &body, out);
        };
        let root = manifest.root();
        storage.learn(manifest);
        if self.records.values().any(|record| record.holdings.contains(&root)) {
            // The file was here whole before its manifest came.
            storage.forget_manifest(&root, false);
        }
        self.refresh_parts(session, storage);
        let record = self.record_of(key);
        let turn = record.open.remove(&key).and_then(|object| object.turn);
        record.hold(key, turn, *blake3::hash(&body).as_bytes());
        self.update_status(session, key, false);
        session.receiver().confirm(key);
        self.remind(now, session, key);
        self.on_manifest_known(now, session, storage, &root, out);
    }

    fn submit(&mut self) {
        while let Some(job) = self.waiting.pop_front() {
            if let Some(job) = self.verifier.submit(job) {
                return self.waiting.push_front(job);
            }
        }
    }

    pub(super) fn on_aborted(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        reason: AbortReason,
        out: &mut Outbox,
    ) {
        let reason = match reason {
            AbortReason::Storage(error) => Reason::of_storage(error),
            AbortReason::Squelched | AbortReason::SenderGone | AbortReason::Window => {
                Reason::Aborted
            }
            AbortReason::Unsent => return self.on_unsent(now, session, storage, key),
            // Only what has failed here is cancelled.
            AbortReason::Cancelled => return,
        };
        let foreign = matches!(self.options.from, SenderFilter::Node(from) if from != key.sender);
        if foreign {
            self.record_of(key).open.remove(&key);
            return;
        }
        let record = self.record_of(key);
        if record.stream.is_some_and(|stream| stream != StreamState::Whole) {
            return self.on_stream_failed(now, session, storage, key, reason, out);
        }
        let turn = record.open.get(&key).and_then(|object| object.turn);
        let is_spared = record.can_spare(turn) || self.is_invented(session, key);
        if reason == Reason::Aborted && is_spared {
            self.let_go(session, storage, key);
        } else {
            self.fail(now, session, storage, key, reason, out);
        }
    }

    /// Its announcement is wrong, and stays so.
    fn fail_unless_invented(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        out: &mut Outbox,
    ) {
        if self.is_shadow(key.sender, key.instance) {
            return self.let_go(session, storage, key);
        }
        self.fail(now, session, storage, key, Reason::HashMismatch, out);
    }

    /// An object that cannot be had, of which nothing was announced, is none of a sender that has said how many it
    /// sends, and none of what only seems to be a sender: a message with a bit turned has told of it. Were it
    /// one, what is missing is found by that number.
    fn is_invented(&mut self, session: &mut Session, key: ObjectKey) -> bool {
        let open = self.record_of(key).open.get(&key);
        let is_announced =
            open.is_some_and(|open| open.announcement.is_some() || open.manifest.is_some());
        let told = session.receiver().called(key.sender).and_then(Invitation::parse);
        !is_announced && (told.is_some() || self.is_shadow(key.sender, key.instance))
    }

    /// The verifier may have finished something.
    pub(crate) fn on_wake(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        while let Some(Verdict { key, result }) = self.verifier.poll() {
            self.last_news = now;
            if self.record_of(key).open.get(&key).is_some_and(|object| object.examined) {
                self.on_examined(now, session, storage, key, result, out);
                continue;
            }
            match result {
                Ok(held) => self.on_held(now, session, storage, key, held, out),
                Err(Fault::Wrong(runs, found)) => {
                    self.mend(now, (session, storage), key, (&runs, found), out);
                }
                Err(Fault::Failed(reason)) => {
                    if reason == Reason::Conflict {
                        // It is not wanted: nothing of it is kept.
                        storage.distrust(key);
                    }
                    self.fail(now, session, storage, key, reason, out);
                }
            }
        }
        self.submit();
        self.on_written(now, session, storage, out);
    }
}
