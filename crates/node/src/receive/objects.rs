//! What becomes of each object: announced, perhaps resumed, verified, mended, placed or failed.
//!
//! What an earlier attempt has left goes to the verifier before it counts: nothing of it is trusted.
//! What comes meanwhile is taken, and nothing is asked for; then, what proved wrong there and has
//! not come.

use std::time::Duration;

use fanfare_proto::{AbortReason, ObjectKey, Session, StorageError, Time};

use super::{ReceiveJob, TOLD_MAX, record::OpenObject};
use crate::{
    announcement::{Announcement, Details},
    event::{NodeEvent, ReceiveEvent},
    file_storage::{FileStorage, Found},
    ledger,
    manifest::{GROUP_LOG2_MIN, Head, Manifest},
    name::SafeName,
    outbox::Outbox,
    receipt::Reason,
    root_set,
    verify::{self, Fault, Held, Job, Origin, Placed, Verdict},
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

    /// Looks for the file, or a part of it, and has what there is examined.
    fn claim(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        (name, details): (&[u8], &Details),
    ) -> Result<(), StorageError> {
        let listed = ledger::lock(&self.ledger).lists(&details.root, name);
        // Of a pack that is not sent unasked, its files may be in their place. Its head will tell.
        let in_place = listed
            || (details.is_pack() && details.on_demand == Some(true))
            || SafeName::parse(name)
                .is_ok_and(|name| self.directory.open_received(&name, details.size).is_some());
        // What is here whole needs no part.
        let may_have_part = details.size > 1 << GROUP_LOG2_MIN && !details.is_pack() && !listed;
        let found = if may_have_part {
            storage.identify(key, (&details.root, name))?
        } else {
            Found::Nothing
        };
        claim_zeros(session, storage, key, details);
        let Some(object) = self.record_of(key).open.get_mut(&key) else { return Ok(()) };
        let held_back = object.origin != Origin::Received;
        let mut receiver = session.receiver();
        // It may have come whole already, with its verification still ahead.
        let complete = receiver.progress(key).is_none_or(|bytes| bytes == details.size);
        object.origin = match found {
            _ if complete => Origin::Received,
            Found::Part => Origin::Kept,
            Found::Shared(_) if held_back && storage.manifest(&details.root).is_some() => {
                Origin::Kept
            }
            Found::Shared(other) => {
                for (offset, len) in receiver.ranges(other).unwrap_or_default() {
                    receiver.have(key, offset, len, storage);
                }
                Origin::Received
            }
            Found::Nothing if in_place => Origin::Elsewhere,
            Found::Nothing => Origin::Received,
        };
        // All of a pack that may be here is claimed. Where it is not, its head is asked for first.
        let claims_pack = object.origin == Origin::Elsewhere && object.has_pack_head();
        object.examined = object.origin != Origin::Received && !claims_pack;
        if claims_pack {
            receiver.have(key, 0, details.size, storage);
        }
        if object.examined != held_back {
            receiver.examine(now, key, object.examined);
        }
        if object.examined && !self.verify(storage, key, details.size) {
            return Err(StorageError::Failed);
        }
        Ok(())
    }

    /// Hands what there is of an object to the verifier; false when it cannot be had.
    fn verify(&mut self, storage: &mut FileStorage, key: ObjectKey, size: u64) -> bool {
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
        // Of a pack, what was claimed is still to be told.
        if !object.has_pack_head() {
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

    /// What an earlier attempt has left is known.
    fn on_examined(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        result: Result<Held, Fault>,
        out: &mut Outbox,
    ) {
        let Some(object) = self.record_of(key).open.get_mut(&key) else { return };
        let origin = std::mem::replace(&mut object.origin, Origin::Received);
        let (name, size) = (object.name(), object.size);
        let came_whole = std::mem::take(&mut object.verifying);
        object.examined = false;
        let right = match result {
            Ok(held) => {
                object.held.get_or_insert(held);
                Vec::new()
            }
            Err(Fault::Wrong(wrong)) => complement(&wrong, size),
            // It cannot be read: all of it is asked for.
            Err(Fault::Failed(_)) => Vec::new(),
        };
        let in_place = object.held.is_some();
        let right = if in_place { vec![(0, size)] } else { right };
        if came_whole {
            return self.on_completed(now, session, storage, key, size, out);
        }
        let mut receiver = session.receiver();
        if in_place {
            // Its completion will find it.
        } else if origin == Origin::Kept {
            let bytes = right.iter().map(|(_, len)| len).sum();
            out.push(NodeEvent::Receive(ReceiveEvent::Resumed { key, name, bytes, size }));
        } else if let Err(error) = storage.reserve(key) {
            // A file that was believed to be here whole has been given no room so far.
            receiver.cancel(key, storage);
            return self.fail(now, session, storage, key, verify::reason(error), out);
        }
        for (offset, len) in right {
            receiver.have(key, offset, len, storage);
        }
        if receiver.examine(now, key, false) {
            self.update_status(session, key, false);
        } else {
            // Its sender has gone meanwhile. The next one finds what is here.
            receiver.cancel(key, storage);
            self.fail(now, session, storage, key, Reason::Aborted, out);
        }
    }

    fn on_held(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        held: Held,
        out: &mut Outbox,
    ) {
        let lacking = held.failures.first().map(|(_, reason)| *reason);
        for other in storage.settle(key, lacking.is_none()) {
            // Parts are shared by single files only.
            if let [placed] = &held.files[..] {
                self.hand_on(session, storage, other, placed);
            }
        }
        if held.size > 1 << GROUP_LOG2_MIN && lacking.is_none() {
            storage.forget_manifest(&held.hash);
        }
        self.refresh_parts(session, storage);
        let renamed = held.files.iter().any(|placed| placed.name_rejected.is_some());
        let record = self.record_of(key);
        let begun = record.open.remove(&key).map_or(now, |object| object.begun);
        match lacking {
            None => record.holdings.insert(key.object, held.hash),
            Some(reason) => record.fail(key, reason),
        }
        if renamed {
            record.fail(key, Reason::NameRejected);
        }
        record.settled_bytes += held.size;
        // The content first: the confirmation may let an acknowledgement go at once.
        self.update_status(session, key, renamed || lacking.is_some());
        if lacking.is_none() {
            session.receiver().confirm(key);
        }
        self.remind(now, session, key);
        self.tell_files(key, now.since(begun), held, out);
    }

    fn tell_files(&mut self, key: ObjectKey, elapsed: Duration, held: Held, out: &mut Outbox) {
        for placed in held.files {
            if !self.is_news(&placed) {
                continue;
            }
            self.report.files += 1;
            self.report.bytes += placed.size;
            out.push(NodeEvent::Receive(ReceiveEvent::File { key, placed, elapsed }));
        }
        for (name, reason) in held.failures {
            self.report.failures.push((key, reason));
            let name = Announcement { name: name.into_bytes(), details: None }.shown_name();
            out.push(NodeEvent::Receive(ReceiveEvent::Failed { key, name, reason }));
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
        is_first || !placed.already
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
            object.held = Some(Placed { already: true, ..placed.clone() }.into());
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
        record.settled_bytes += object.as_ref().map_or(0, |object| object.size);
        record.fail(key, reason);
        self.report.failures.push((key, reason));
        self.update_status(session, key, true);
        self.remind(now, session, key);
        let name = object.and_then(|object| object.name());
        out.push(NodeEvent::Receive(ReceiveEvent::Failed { key, name, reason }));
    }
}

/// What its manifest says is all zeros need not travel: a part begins with nothing else. Should it
/// not be so, its hash tells.
fn claim_zeros(
    session: &mut Session,
    storage: &mut FileStorage,
    key: ObjectKey,
    details: &Details,
) {
    let Some(manifest) = storage.manifest(&details.root) else { return };
    let mut receiver = session.receiver();
    for (offset, len) in manifest.zero_runs() {
        receiver.have(key, offset, len, storage);
    }
}

/// The runs (offset, length) of `size` bytes that are not among `runs`, which are in order.
fn complement(runs: &[(u64, u64)], size: u64) -> Vec<(u64, u64)> {
    let starts = std::iter::once(0).chain(runs.iter().map(|(offset, len)| offset + len));
    let ends = runs.iter().map(|(offset, _)| *offset).chain([size]);
    starts.zip(ends).filter(|(start, end)| start < end).map(|(s, end)| (s, end - s)).collect()
}

#[cfg(test)]
mod tests {
    use super::complement;

    #[test]
    fn what_is_not_wrong_is_right() {
        assert_eq!(complement(&[], 10), [(0, 10)]);
        assert_eq!(complement(&[(0, 10)], 10), []);
        assert_eq!(complement(&[(0, 2), (5, 1), (8, 2)], 10), [(2, 3), (6, 2)]);
        assert_eq!(complement(&[], 0), []);
    }
}
