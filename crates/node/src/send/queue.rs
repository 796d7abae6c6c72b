//! Which objects are with the core, which are to come, and how far receivers have followed.
//!
//! Receivers keep 256 object ids in view, so no more than that may be under way beyond what all of
//! them have acknowledged: watermarks in the middle hold the sender back. The next half is
//! enqueued while the half before is being acknowledged, so that the line never idles.

use std::{collections::VecDeque, fs::File, path::PathBuf, sync::Arc};

use fanfare_proto::{
    EnqueueError, FirstPass, NewObject, ObjectKey, ObjectKind, ObjectTransportId, Session, Time,
};

use crate::{
    file_storage::FileStorage,
    receipt::Holdings,
    source::{SourceFile, Sources},
};

/// Half of the objects that receivers keep in view.
const HALF: u64 = 128;

/// What is known of an object after it was handed to the core.
#[derive(Debug)]
pub(super) struct SentObject {
    pub(super) key: ObjectKey,
    pub(super) file: SourceFile,
}

/// All objects of one sending.
#[derive(Debug)]
pub(super) struct Queue {
    to_come: VecDeque<SourceFile>,
    pub(super) sent: Vec<SentObject>,
    pub(super) total: u64,
    pub(super) bytes: u64,
    /// Digests what a receiver of everything holds.
    pub(super) expected: Holdings,
    /// Objects sent once in full, in this round.
    passed: u64,
    /// Objects up to which all receivers have followed.
    followed: u64,
    /// Objects that the watermark under way covers.
    marked: Option<u64>,
    rounds_left: u32,
    one_way: bool,
    pub(super) changed: Vec<PathBuf>,
}

impl Queue {
    pub(super) fn new(sources: Sources, rounds: u32, one_way: bool) -> Self {
        Self {
            total: sources.files.len() as u64,
            bytes: sources.bytes,
            to_come: sources.files,
            sent: Vec::new(),
            expected: Holdings::default(),
            passed: 0,
            followed: 0,
            marked: None,
            rounds_left: rounds,
            one_way,
            changed: Vec::new(),
        }
    }

    fn enqueued(&self) -> u64 {
        self.sent.len() as u64
    }

    /// Hands the core as many objects as may be under way.
    pub(super) fn fill(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
    ) -> Result<(), (PathBuf, EnqueueError)> {
        let ahead_of = if self.one_way { self.passed } else { self.followed };
        while self.enqueued() < ahead_of + 2 * HALF {
            let Some(file) = self.to_come.front() else { return Ok(()) };
            let Some(open) = file.open() else {
                self.leave_out();
                continue;
            };
            let info = file.announcement().encode();
            let info = Some(info);
            let pass = FirstPass::Whole;
            let object = NewObject { kind: ObjectKind::File, size: file.size, info, pass };
            match session.sender().enqueue(now, object) {
                Ok(key) => self.take(key, open, storage),
                // Room comes with an event.
                Err(EnqueueError::CacheFull { .. }) => return Ok(()),
                Err(error) => return Err((file.path.clone(), error)),
            }
        }
        Ok(())
    }

    /// A file that changed before its turn came.
    fn leave_out(&mut self) {
        if let Some(file) = self.to_come.pop_front() {
            self.changed.push(file.path);
            self.total -= 1;
        }
        // The watermark before was not taken for the last one: it is asked for once more.
        if self.to_come.is_empty() && self.marked.is_none() {
            self.followed = self.followed.min(self.total.saturating_sub(1));
        }
    }

    fn take(&mut self, key: ObjectKey, open: Arc<File>, storage: &mut FileStorage) {
        if let Some(file) = self.to_come.pop_front() {
            storage.add_source(key, open);
            self.expected.insert(key.object, file.root);
            self.sent.push(SentObject { key, file });
        }
    }

    /// Whether a watermark is due: what it covers is enough, or all there is.
    pub(super) fn wants_watermark(&self) -> bool {
        let all = self.to_come.is_empty() && self.rounds_left == 0;
        let enough = self.enqueued() >= self.followed + HALF && !self.to_come.is_empty();
        !self.one_way && self.marked.is_none() && self.enqueued() > self.followed && (all || enough)
    }

    pub(super) fn on_watermark_set(&mut self) {
        self.marked = Some(self.enqueued());
    }

    /// Everybody asked has answered, or will not.
    pub(super) fn on_watermark_done(&mut self) {
        if let Some(marked) = self.marked.take() {
            self.followed = marked;
        }
    }

    /// Whether the watermark under way, or the one before, covers everything.
    pub(super) fn is_last_watermark(&self) -> bool {
        self.marked.unwrap_or(self.followed) == self.total && self.rounds_left == 0
    }

    /// Whether everything has been enqueued, sent in all rounds, and followed by all.
    pub(super) fn is_followed(&self) -> bool {
        self.followed == self.total && self.rounds_left == 0
    }

    /// Everything has been sent in all rounds.
    pub(super) fn is_passed(&self) -> bool {
        self.to_come.is_empty() && self.passed >= self.total && self.rounds_left == 0
    }

    /// The core has sent an object once in full.
    pub(super) fn on_object_sent(&mut self, key: ObjectKey, session: &mut Session) {
        self.passed += 1;
        let changed = self.sent.iter().rev().find(|object| object.key == key);
        if changed.is_some_and(|object| !object.file.is_unchanged()) {
            self.withdraw(key, session);
        }
        if self.to_come.is_empty() && self.passed >= self.total {
            // The core tells the end of the first round only; it counts the others itself.
            for _ in 0..std::mem::take(&mut self.rounds_left) {
                for object in &self.sent {
                    session.sender().requeue(object.key.object);
                }
            }
        }
    }

    /// Takes back an object whose file changed; receivers are told.
    pub(super) fn withdraw(&mut self, key: ObjectKey, session: &mut Session) {
        let Some(object) = self.sent.iter().find(|object| object.key == key) else { return };
        if !self.changed.contains(&object.file.path) {
            self.changed.push(object.file.path.clone());
            session.sender().cancel(key.object);
        }
    }

    /// Files that were changed after they had been sent.
    pub(super) fn check_all(&mut self) {
        for object in &self.sent {
            if !object.file.is_unchanged() && !self.changed.contains(&object.file.path) {
                self.changed.push(object.file.path.clone());
            }
        }
    }

    pub(super) fn name_of(&self, object: u16) -> String {
        let id = ObjectTransportId(object);
        let found = self.sent.iter().rev().find(|sent| sent.key.object == id);
        found.map_or_else(|| format!("object {object}"), |sent| sent.file.name.clone())
    }
}
