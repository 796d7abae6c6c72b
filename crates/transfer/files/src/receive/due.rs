//! Whether it is time for an object that is about all others, and what becomes of it then.

use crate::content::announcement::{Details, Turn};
use fanfare_proto::{ObjectKey, Session};

use super::ReceiveJob;
use crate::file_storage::FileStorage;

/// What is known of an object for which it may be time.
pub(super) struct Due {
    pub(super) size: u64,
    pub(super) turn: Option<Turn>,
    pub(super) details: Details,
}

impl ReceiveJob {
    /// An object that waits, unless it was given up, or the same one of another round of a carousel has
    /// been acted on.
    pub(super) fn due(
        &mut self,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
    ) -> Option<Due> {
        let record = self.record_of(key);
        let object = record.open.get(&key)?;
        let (size, turn) = (object.size, object.turn);
        let details = object.announcement.as_ref()?.details.clone()?;
        if turn.is_some_and(|turn| record.holdings.has_at(turn.place, &details.root)) {
            self.on_repeated(session, storage, key);
            return None;
        }
        Some(Due { size, turn, details })
    }

    /// It comes again in the next round, and perhaps what is lacking before it.
    pub(super) fn spare(
        &mut self,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
    ) {
        self.let_go(session, storage, key);
        session.receiver().confirm(key);
    }

    /// Hash and size of an object that was acted on. `None`: it was given up meanwhile, together with
    /// its sender.
    pub(super) fn followed(&mut self, key: ObjectKey) -> Option<([u8; 32], u64)> {
        let object = self.record_of(key).open.get(&key)?;
        let details = object.announcement.as_ref().and_then(|a| a.details.as_ref());
        Some((details.map_or([0; 32], |details| details.root), object.size))
    }
}
