//! What becomes of each object: announced, examined, received, verified.

use fanfare_proto::{AbortReason, ObjectKey, Session, Time};

use super::{ReceiveJob, record::OpenObject};
use crate::{
    announcement::Announcement,
    event::{NodeEvent, ReceiveEvent},
    file_storage::FileStorage,
    manifest::{Head, Manifest},
    outbox::Outbox,
    receipt::Reason,
    verify::{self, Fault, Job, Origin, Verdict},
};

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
        let mut object = OpenObject::new(size, now);
        // Whether it is the one whose part is here, NORM_INFO tells. Were it asked for meanwhile,
        // it would be sent.
        let may_resume = has_info && storage.may_resume(key, size);
        if may_resume {
            object.origin = Origin::Elsewhere;
        }
        let record = self.record_of(key);
        record.gone = false;
        record.open.insert(key, object);
        if may_resume {
            session.receiver().examine(now, key, true);
        }
        self.update_status(session, key, false);
        if !has_info {
            out.push(NodeEvent::Receive(ReceiveEvent::Object { key, name: None, size }));
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
        let Some(object) = self.record_of(key).open.get_mut(&key) else { return };
        object.manifest = Head::parse(info).filter(|head| head.body_len() == object.size);
        if object.manifest.is_some() {
            return;
        }
        let announcement = Announcement::parse(info);
        let (name, size) = (announcement.shown_name(), object.size);
        object.announcement = Some(announcement.clone());
        out.push(NodeEvent::Receive(ReceiveEvent::Object { key, name, size }));
        if let Some(details) = announcement.details.filter(|d| d.size == size) {
            let found = self.claim(now, session, storage, key, (&announcement.name, &details));
            if let Err(error) = found {
                self.fail(now, session, storage, key, verify::reason(error), out);
                session.receiver().cancel(key, storage);
            }
        } else if object.origin != Origin::Received {
            // No part can be this object's.
            object.origin = Origin::Received;
            session.receiver().examine(now, key, false);
        }
        self.refresh_parts(session, storage);
        self.update_status(session, key, false);
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
        let new = || OpenObject::new(size, now);
        let object = self.record_of(key).open.entry(key).or_insert_with(new);
        if let Some(head) = object.manifest.clone() {
            return self.on_manifest(now, session, storage, key, head, out);
        }
        if let Some(held) = object.held.take() {
            return self.on_held(now, session, storage, key, held, out);
        }
        object.verifying = true;
        // All of it has come while it was examined: that ends first.
        if object.examined {
            return;
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
            return self.fail(now, session, storage, key, Reason::HashMismatch, out);
        };
        let root = manifest.root();
        storage.learn(manifest);
        if self.records.values().any(|record| record.holdings.contains(&root)) {
            // The file was here whole before its manifest came.
            storage.forget_manifest(&root);
        }
        self.refresh_parts(session, storage);
        let record = self.record_of(key);
        record.open.remove(&key);
        record.holdings.insert(key.object, *blake3::hash(&body).as_bytes());
        self.update_status(session, key, false);
        session.receiver().confirm(key);
        self.remind(now, session, key);
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
            AbortReason::Storage(error) => verify::reason(error),
            AbortReason::Squelched | AbortReason::SenderGone | AbortReason::Window => {
                Reason::Aborted
            }
            // Only what has failed here is cancelled.
            AbortReason::Cancelled => return,
        };
        let foreign = self.options.from.is_some_and(|from| from != key.sender);
        if foreign {
            self.record_of(key).open.remove(&key);
        } else {
            self.fail(now, session, storage, key, reason, out);
        }
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
                Err(Fault::Wrong(runs)) => self.mend(now, session, storage, key, &runs, out),
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
    }
}
