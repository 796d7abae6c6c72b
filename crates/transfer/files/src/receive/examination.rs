//! What an earlier attempt has left, and what is in its place already.
//!
//! It goes to the verifier before it counts: nothing of it is trusted. What comes meanwhile is
//! taken, and nothing is asked for; then, what proved wrong there and has not come.
//!
//! Of an older version of a file its manifest tells what is right. It was sent ahead, and may have been
//! lost on the way.

use std::time::Duration;

use crate::content::{announcement::Details, manifest, receipt::Reason};
use fanfare_node::disk::name::SafeName;
use fanfare_proto::{ObjectKey, Session, StorageError, Time};

use super::{ReceiveJob, record::OpenObject};
use crate::{
    event::{Outbox, ReceiveEvent, TransferEvent},
    file_storage::{FileStorage, Found, What},
    ledger,
    verify::{Fault, Held, Origin},
};

/// A manifest that was lost is asked for within a few round trips, even by satellite. A sender that
/// sends none is not waited for any longer.
const MANIFEST_WAIT: Duration = Duration::from_secs(5);

impl ReceiveJob {
    /// Looks for the file, or a part of it, and has what there is examined.
    pub(super) fn claim(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        (name, details): (&[u8], &Details),
    ) -> Result<(), StorageError> {
        let listed = ledger::lock(&self.ledger).lists(&details.root, name);
        // Of a pack that is not sent unasked, its files may be in their place. Its head will tell.
        let claimed = details.pack_head().is_some() && details.on_demand == Some(true);
        let is_file = !details.is_pack() && !details.comes_last();
        let has_base = is_file
            && details.size > manifest::WITHOUT_MAX
            && SafeName::parse(name).is_ok_and(|name| self.directory.open_any(&name).is_some());
        // What is zeros takes no room. Its manifest tells how much that is.
        let may_fit = has_base || storage.is_short(key);
        if may_fit && !listed && self.awaits_manifest(now, session, storage, key, details) {
            return Ok(());
        }
        let in_place = listed
            || claimed
            || has_base
            || SafeName::parse(name)
                .is_ok_and(|name| self.directory.open_received(&name, details.size).is_some());
        // What is here whole needs no part.
        let what = match details.is_pack() {
            // What of it is right, its head will tell.
            true => details.pack_head().map(|_| What::Pack),
            false => is_file.then_some(What::File(name)),
        };
        let has_part = |what: &What<'_>| {
            !listed && (*what == What::Pack || details.size > manifest::WITHOUT_MAX)
        };
        let found = match what.filter(has_part) {
            Some(what) => storage.identify(key, &details.root, what)?,
            None => Found::Nothing,
        };
        claim_zeros(session, storage, key, details)?;
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
            Found::Nothing if claimed => Origin::Claimed,
            Found::Nothing if in_place => Origin::Elsewhere,
            Found::Nothing => Origin::Received,
        };
        object.examined = matches!(object.origin, Origin::Kept | Origin::Elsewhere);
        if object.origin == Origin::Claimed {
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

    /// Begins to wait for the manifest of a file, where that is of use.
    fn awaits_manifest(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &FileStorage,
        key: ObjectKey,
        details: &Details,
    ) -> bool {
        let Some(object) = self.record_of(key).open.get_mut(&key) else { return false };
        let has_come = session.receiver().progress(key).is_none_or(|bytes| bytes == details.size);
        if has_come || object.awaited_manifest || storage.manifest(&details.root).is_some() {
            return false;
        }
        (object.awaited_manifest, object.awaits_manifest) = (true, Some(now + MANIFEST_WAIT));
        if object.origin == Origin::Received {
            object.origin = Origin::Elsewhere;
            session.receiver().examine(now, key, true);
        }
        true
    }

    /// The manifest of `root` has come: what waits for it can be examined.
    pub(super) fn on_manifest_known(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        root: &[u8; 32],
        out: &mut Outbox,
    ) {
        let is_of_root = |object: &OpenObject| object.details().is_some_and(|d| d.root == *root);
        self.claim_again(now, session, storage, &is_of_root, out);
    }

    /// A manifest that does not come is not waited for any more.
    pub(super) fn stop_awaiting(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        let is_due = |object: &OpenObject| object.awaits_manifest.is_some_and(|at| at <= now);
        self.claim_again(now, session, storage, &is_due, out);
    }

    fn claim_again(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        which: &dyn Fn(&OpenObject) -> bool,
        out: &mut Outbox,
    ) {
        let objects = self.records.values_mut().flat_map(|record| record.open.iter_mut());
        let waiting =
            objects.filter(|(_, object)| object.awaits_manifest.is_some() && which(object));
        let mut again = Vec::new();
        for (key, object) in waiting {
            object.awaits_manifest = None;
            again.extend(object.announcement.clone().map(|announcement| (*key, announcement)));
        }
        for (key, announcement) in again {
            let Some(details) = announcement.details else { continue };
            let claimed = self.claim(now, session, storage, key, (&announcement.name, &details));
            if let Err(error) = claimed {
                self.give_up(now, session, storage, key, Reason::of_storage(error), out);
            }
        }
    }

    /// What an earlier attempt has left is known.
    pub(super) fn on_examined(
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
            Err(Fault::Wrong(wrong, _)) => complement(&wrong, size),
            // It cannot be read: all of it is asked for.
            Err(Fault::Failed(_)) => Vec::new(),
        };
        let in_place = object.held.is_some();
        let right = if in_place { vec![(0, size)] } else { right };
        if came_whole {
            return self.on_completed(now, session, storage, key, size, out);
        }
        let mut receiver = session.receiver();
        let bytes: u64 = right.iter().map(|(_, len)| len).sum();
        if !in_place && bytes > 0 {
            out.push(TransferEvent::Receive(ReceiveEvent::Resumed { key, name, bytes, size }));
        }
        if in_place || origin == Origin::Kept {
            // Its completion will find it, or it has its room.
        } else if let Err(error) = storage.check_room(key) {
            // A file that was believed to be here whole has not been asked for room so far.
            receiver.cancel(key, storage);
            return self.fail(now, session, storage, key, Reason::of_storage(error), out);
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
}

/// What its manifest says is all zeros need not travel: a part begins with nothing else. Should it
/// not be so, its hash tells.
fn claim_zeros(
    session: &mut Session,
    storage: &mut FileStorage,
    key: ObjectKey,
    details: &Details,
) -> Result<(), StorageError> {
    let zeros = storage.manifest(&details.root).map(|manifest| manifest.zero_runs());
    let zeros = zeros.unwrap_or_default();
    if !zeros.is_empty() {
        storage.extend(key)?;
    }
    let mut receiver = session.receiver();
    for (offset, len) in zeros {
        receiver.have(key, offset, len, storage);
    }
    Ok(())
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
