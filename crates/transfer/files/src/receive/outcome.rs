//! What an object comes to: held, or failed; and who is told of it.

use std::time::Duration;

use crate::content::{
    announcement::Announcement, manifest, placed::Placed, receipt::Reason, root_set,
};
use fanfare_node::disk::directory::How;
use fanfare_proto::{ObjectKey, ObjectTransportId, Session, Time};

use super::{ReceiveJob, record::OpenObject};
use crate::event::Outbox;

use crate::{
    event::{ReceiveEvent, TransferEvent},
    file_storage::FileStorage,
    verify::Held,
};

/// Files remembered as told; an application may then hear of the same one again.
const TOLD_MAX: usize = 1 << 20;

impl ReceiveJob {
    pub(super) fn on_held(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        mut held: Held,
        out: &mut Outbox,
    ) {
        let reasons = || held.failures.iter().map(|(_, reason)| *reason);
        let lacking = reasons().find(|reason| reason.is_failure());
        let noted = reasons().find(|reason| !reason.is_failure());
        for other in storage.settle(key, lacking.is_none()) {
            // Parts are shared by single files only.
            if let [placed] = &held.files[..] {
                self.hand_on(session, storage, other, placed);
            }
        }
        let is_pack = self.record_of(key).open.get(&key).is_some_and(OpenObject::is_pack);
        if (is_pack || held.size > manifest::WITHOUT_MAX) && lacking.is_none() {
            let found = held.files.iter().all(Placed::is_already);
            storage.forget_manifest(&held.hash, found);
        }
        self.refresh_parts(session, storage);
        let elapsed = now.since(self.record_of(key).open.get(&key).map_or(now, |o| o.begun));
        self.keep_displaced(key, elapsed, &mut held);
        let misplaced = held.files.iter().find_map(Placed::misplaced).or(noted);
        let record = self.record_of(key);
        let object = record.open.remove(&key);
        let turn = object.as_ref().and_then(|object| object.turn);
        let details = object.as_ref().and_then(OpenObject::details);
        let instead = details.and_then(|details| details.instead).filter(|_| lacking.is_none());
        let begun = object.as_ref().map_or(now, |object| object.begun);
        let mut past = Vec::new();
        match lacking {
            None => past = record.hold(key, turn, held.hash),
            Some(reason) => record.fail(key, turn, reason),
        }
        if let Some(reason) = misplaced {
            record.fail(key, turn, reason);
        }
        if let Some(instead) = instead {
            record.replace(instead);
            past.push(ObjectTransportId(instead));
        }
        record.settled_bytes += held.size;
        self.forgive(key, &past);
        // The content first: the confirmation may let an acknowledgement go at once.
        self.update_status(session, key, misplaced.is_some() || lacking.is_some());
        if lacking.is_none() {
            session.receiver().confirm(key);
        }
        self.remind(now, session, key);
        self.tell_files(key, now.since(begun), held, out);
    }

    /// What failed in an earlier round of a carousel is here now.
    fn forgive(&mut self, key: ObjectKey, past: &[ObjectTransportId]) {
        if !past.is_empty() {
            let is_past = |failed: &ObjectKey| {
                let same = (failed.sender, failed.instance) == (key.sender, key.instance);
                same && past.contains(&failed.object)
            };
            self.report.failures.retain(|(failed, _)| !is_past(failed));
        }
    }

    /// An object that was held in an earlier round of a carousel.
    pub(super) fn on_repeated(
        &mut self,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
    ) {
        storage.settle(key, false);
        self.record_of(key).forget(key);
        self.update_status(session, key, false);
        session.receiver().confirm(key);
    }

    /// An object that cannot be had, in a carousel that brings it again or has brought all.
    pub(super) fn let_go(
        &mut self,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
    ) {
        storage.settle(key, false);
        self.refresh_parts(session, storage);
        self.record_of(key).open.remove(&key);
        self.update_status(session, key, false);
    }

    fn tell_files(&mut self, key: ObjectKey, elapsed: Duration, held: Held, out: &mut Outbox) {
        for placed in held.files {
            self.report.unnamed += u64::from(placed.name_rejected.is_some());
            if !self.is_news(&placed) {
                continue;
            }
            self.report.files += 1;
            self.report.bytes += placed.size;
            out.push(TransferEvent::Receive(ReceiveEvent::File { key, placed, elapsed }));
        }
        for (name, reason) in held.failures {
            if reason.is_failure() {
                self.report.failures.push((key, reason));
            }
            let name = Announcement { name: name.into_bytes(), details: None }.shown_name();
            out.push(TransferEvent::Receive(ReceiveEvent::Failed { key, name, reason }));
        }
    }

    /// Whether the application has not heard of this file yet: another sender, or the same one
    /// begun anew, may bring what it has heard of.
    fn is_news(&mut self, placed: &Placed) -> bool {
        if self.told.len() >= TOLD_MAX {
            self.told.clear();
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&placed.hash).update(placed.name.to_string().as_bytes());
        let is_first = self.told.insert(root_set::start(hasher.finalize().as_bytes()));
        is_first || !placed.is_already()
    }

    /// Another sender's object is the same file, which is in its place now.
    fn hand_on(
        &mut self,
        session: &mut Session,
        storage: &mut FileStorage,
        other: ObjectKey,
        placed: &Placed,
    ) {
        let Some(object) = self.record_of(other).open.get_mut(&other) else { return };
        // What is being verified finds the file by itself.
        if object.examined || !object.verifying {
            object.held = Some(Placed { how: How::Already, ..placed.clone() }.into());
        }
        if !(object.examined || object.verifying) {
            session.receiver().have(other, 0, placed.size, storage);
        }
    }

    pub(super) fn fail(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        reason: Reason,
        out: &mut Outbox,
    ) {
        storage.settle(key, false);
        self.refresh_parts(session, storage);
        let record = self.record_of(key);
        let object = record.open.remove(&key);
        let was_listing = object.as_ref().is_some_and(OpenObject::is_listing);
        if record.replaced.contains(&key.object.0) {
            // Another one comes in its place.
            self.update_status(session, key, false);
            return session.receiver().excuse(key, storage);
        }
        record.settled_bytes += object.as_ref().map_or(0, |object| object.size);
        record.fail(key, object.as_ref().and_then(|object| object.turn), reason);
        if was_listing {
            self.settle_displaced(session, key, Vec::new(), out);
        }
        self.report.failures.push((key, reason));
        self.update_status(session, key, true);
        self.remind(now, session, key);
        let name = object.and_then(|object| object.name());
        out.push(TransferEvent::Receive(ReceiveEvent::Failed { key, name, reason }));
    }
}
