//! What proves wrong is asked for again; of a pack that was only claimed, its head.

use std::time::Duration;

use fanfare_content::receipt::Reason;
use fanfare_proto::{ObjectKey, Session, Time};

use super::ReceiveJob;
use crate::event::Outbox;

use crate::{
    event::{ReceiveEvent, TransferEvent},
    file_storage::FileStorage,
    verify::Origin,
};

/// The same wrong content comes so often before an object is given up: its sender's file is not what it
/// announced, and will not become so.
const SAME_MAX: u8 = 3;
/// Other wrong content each time is what somebody makes who sends wrong symbols in the sender's name: it
/// is borne so often, and for so long, that a burst of them spoils some attempts and not the file.
const ATTEMPTS_MAX: u8 = 32;
const PATIENCE: Duration = Duration::from_secs(120);

/// What came of an object and proved wrong.
#[derive(Debug, Default)]
pub(super) struct Mended {
    attempts: u8,
    since: Option<Time>,
    /// The hash of what was found last, and how often in a row.
    found: Option<[u8; 32]>,
    same: u8,
}

impl Mended {
    /// It proved wrong; `found` is the hash of what was there. Whether to ask for it again.
    fn again(&mut self, now: Time, found: Option<[u8; 32]>) -> bool {
        let since = *self.since.get_or_insert(now);
        self.same = if self.found == found { self.same.saturating_add(1) } else { 1 };
        self.found = found;
        self.attempts = self.attempts.saturating_add(1);
        self.same <= SAME_MAX && self.attempts <= ATTEMPTS_MAX && now.since(since) < PATIENCE
    }
}

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
        let event = match origin {
            Origin::Received => {
                if !object.mended.again(now, found) {
                    storage.distrust(key);
                    return self.fail(now, session, storage, key, Reason::HashMismatch, out);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_wrong_content_is_given_up_soon_and_changing_content_is_asked_for_on() {
        let mut mended = Mended::default();
        let asked = (0..10).take_while(|_| mended.again(Time::ZERO, Some([1; 32]))).count();
        assert_eq!(asked, 3);
        let mut mended = Mended::default();
        let asked = (0..100u8).take_while(|n| mended.again(Time::ZERO, Some([*n; 32]))).count();
        assert_eq!(asked, 32);
        let mut mended = Mended::default();
        assert!(mended.again(Time::ZERO, Some([1; 32])));
        assert!(!mended.again(Time::ZERO + PATIENCE, Some([2; 32])));
    }
}
