//! What proves wrong is asked for again, manifests too; of a pack that was only claimed, its head.

use crate::content::{manifest::Head, receipt::Reason};
use fanfare_proto::{ObjectKey, Session, Time};

use super::{
    ReceiveJob,
    mended::{MendingVerdict, WrongContent},
};
use crate::event::Outbox;

use crate::{
    event::{ReceiveEvent, TransferEvent},
    file_storage::FileStorage,
    verify::Origin,
};

impl ReceiveJob {
    /// Asks for what proved wrong.
    pub(super) fn mend(
        &mut self,
        now: Time,
        (session, storage): (&mut Session, &mut FileStorage),
        key: ObjectKey,
        (runs, found): (&[(u64, u64)], Option<[u8; 32]>),
        out: &mut Outbox,
    ) {
        let Some(object) = self.record_of(key).open.get_mut(&key) else {
            storage.settle(key, false);
            return;
        };
        let asks_head = object.origin == Origin::Claimed;
        let next = if asks_head { Origin::Head } else { Origin::Received };
        let origin = std::mem::replace(&mut object.origin, next);
        let (name, size) = (object.name(), object.size);
        let bytes: u64 = runs.iter().map(|(_, len)| len).sum();
        object.verifying = false;
        let details = object.announcement.as_ref().and_then(|told| told.details.as_ref());
        let root = details.map(|details| details.root);
        let event = match origin {
            Origin::Received => {
                let wrong = WrongContent { announced: root, found, bytes };
                match self.record_of(key).mended(key.object.0).on_wrong(now, wrong) {
                    MendingVerdict::Again => {}
                    MendingVerdict::Anew => return self.begin_anew(session, storage, key),
                    MendingVerdict::Never => {
                        storage.distrust(key);
                        return self.fail(now, session, storage, key, Reason::HashMismatch, out);
                    }
                }
                Some(ReceiveEvent::Mending { key, name, bytes })
            }
            Origin::Head => (size > bytes).then(|| ReceiveEvent::Resumed {
                key,
                name,
                bytes: size - bytes,
                size,
            }),
            Origin::Kept | Origin::Elsewhere | Origin::Claimed => None,
        };
        out.push_all(event.map(TransferEvent::Receive));
        if origin == Origin::Received {
            self.blame((session, storage), key, root, runs);
        }
        storage.reopen(key);
        // A pack that was believed to be here whole has not been asked for room so far.
        let room = if asks_head { storage.check_room(key) } else { Ok(()) };
        if let Err(error) = room {
            session.receiver().cancel(key, storage);
            return self.fail(now, session, storage, key, Reason::of_storage(error), out);
        }
        let mut receiver = session.receiver();
        let mut asked = runs.iter().all(|(offset, len)| receiver.reject(now, key, *offset, *len));
        if asks_head {
            // Whole blocks of it: decoding would believe what is claimed of the others in them.
            let runs = receiver.ranges(key).unwrap_or_default();
            let end = runs.first().map_or(size, |(start, _)| *start);
            asked &= receiver.reject(now, key, 0, end);
        }
        if asked {
            self.update_status(session, key, false);
        } else {
            // Its sender has gone meanwhile. The next one finds what is here.
            self.fail(now, session, storage, key, Reason::Aborted, out);
        }
    }

    /// Forgets an object and its announcement, which do not belong together and stay so: both come anew.
    pub(super) fn begin_anew(
        &mut self,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
    ) {
        storage.distrust(key);
        self.record_of(key).forget(key);
        self.let_go(session, storage, key);
        session.receiver().forget_object(key, storage);
    }

    /// A manifest does not have the hash that was announced for it. Another receiver may have passed it on
    /// with wrong bytes: it is asked for again.
    pub(super) fn mend_manifest(
        &mut self,
        now: Time,
        (session, storage): (&mut Session, &mut FileStorage),
        key: ObjectKey,
        body: &[u8],
        out: &mut Outbox,
    ) {
        let size = body.len() as u64;
        let found = Some(*blake3::hash(body).as_bytes());
        let head = self.record_of(key).open.get(&key).and_then(|object| object.manifest.as_ref());
        let wrong = WrongContent { announced: head.map(Head::root), found, bytes: size };
        let mending = self.record_of(key).mended(key.object.0).on_wrong(now, wrong);
        if mending == MendingVerdict::Anew {
            return self.begin_anew(session, storage, key);
        }
        if mending == MendingVerdict::Again {
            self.blame((session, storage), key, None, &[(0, size)]);
            storage.ask_small(key, size);
            if session.receiver().reject(now, key, 0, size) {
                return self.update_status(session, key, false);
            }
        }
        self.fail(now, session, storage, key, Reason::HashMismatch, out);
    }
}
