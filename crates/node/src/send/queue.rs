//! Which objects are with the core, which are to come, and how far receivers have followed.
//!
//! Receivers keep 256 object ids in view, so no more than that may be under way beyond what all of
//! them have acknowledged: watermarks in the middle hold the sender back. The next half is
//! enqueued while the half before is being acknowledged, so that the line never idles.

use std::{collections::VecDeque, path::PathBuf, sync::Arc};

use fanfare_proto::{
    EnqueueError, FirstPass, NewObject, ObjectKey, ObjectKind, ObjectTransportId, Session, Time,
};

use crate::{
    announcement::{Announcement, Details},
    file_storage::FileStorage,
    manifest::Manifest,
    read_at::ReadAt,
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
    /// It is not the file itself but the manifest that goes ahead of it.
    pub(super) is_manifest: bool,
}

/// What of the objects need not be sent unasked, and what goes with them.
#[derive(Debug, Default)]
pub(super) struct Economy {
    /// Receivers that understand manifests listen.
    pub(super) manifests: bool,
    /// Receivers are expected to have most of everything.
    pub(super) sync: bool,
}

/// Whether everybody says of a root that it is there, whole or in part.
pub(super) type AllHave<'a> = &'a dyn Fn(&[u8; 32]) -> bool;

/// All objects of one sending.
#[derive(Debug)]
pub(super) struct Queue {
    to_come: VecDeque<SourceFile>,
    pub(super) sent: Vec<SentObject>,
    /// Objects in all, manifests among them.
    pub(super) total: u64,
    /// Files in all.
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// Digests what a receiver of everything holds.
    pub(super) expected: Holdings,
    economy: Economy,
    /// Files that go on demand because all have them, or a part, not yet told to the user.
    resuming: Vec<(ObjectKey, String)>,
    /// The manifest of the next file has been enqueued.
    manifest_sent: bool,
    /// Objects sent once in full, in this round.
    passed: u64,
    /// Objects up to which all receivers have followed.
    followed: u64,
    /// Objects that the watermark under way covers.
    marked: Option<u64>,
    /// The watermark under way was not taken for the last one, and has become it: once more.
    again: bool,
    rounds_left: u32,
    one_way: bool,
    pub(super) changed: Vec<PathBuf>,
}

impl Queue {
    pub(super) fn new(sources: Sources, rounds: u32, one_way: bool) -> Self {
        let files = sources.files.len() as u64;
        Self {
            total: files,
            files,
            bytes: sources.bytes,
            to_come: sources.files,
            sent: Vec::new(),
            expected: Holdings::default(),
            economy: Economy::default(),
            resuming: Vec::new(),
            manifest_sent: false,
            passed: 0,
            followed: 0,
            marked: None,
            again: false,
            rounds_left: rounds,
            one_way,
            changed: Vec::new(),
        }
    }

    /// Before anything has been enqueued: how to send it.
    pub(super) fn set_economy(&mut self, economy: Economy) {
        self.economy = economy;
        let manifests = self.to_come.iter().filter(|file| self.has_manifest(file)).count();
        self.total = self.files + manifests as u64;
    }

    fn has_manifest(&self, file: &SourceFile) -> bool {
        self.economy.manifests && file.manifest.is_some()
    }

    pub(super) fn manifests(&self) -> u64 {
        self.total - self.files
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
        all_have: AllHave<'_>,
    ) -> Result<(), (PathBuf, EnqueueError)> {
        let ahead_of = if self.one_way { self.passed } else { self.followed };
        while self.enqueued() < ahead_of + 2 * HALF {
            let Some(file) = self.to_come.front() else { return Ok(()) };
            let Some(open) = file.open() else {
                self.leave_out();
                continue;
            };
            let manifest = file.manifest.clone().filter(|_| self.owes_manifest());
            let object = match &manifest {
                Some(manifest) => NewObject {
                    kind: ObjectKind::Data,
                    size: manifest.body().len() as u64,
                    info: Some(manifest.info()),
                    pass: FirstPass::Whole,
                },
                None => {
                    let pass = self.pass_of(file, all_have);
                    let announcement = self.announcement_of(file, pass == FirstPass::OnDemand);
                    let info = Some(announcement.encode());
                    NewObject { kind: file.kind(), size: file.size, info, pass }
                }
            };
            let pass = object.pass;
            match session.sender().enqueue(now, object) {
                Ok(key) => match manifest {
                    Some(manifest) => self.take_manifest(key, &manifest, storage),
                    None => {
                        let resumed = pass == FirstPass::OnDemand && all_have(&file.root);
                        self.take(key, open, resumed, storage);
                    }
                },
                // Room comes with an event.
                Err(EnqueueError::CacheFull { .. }) => return Ok(()),
                Err(error) => return Err((file.path.clone(), error)),
            }
        }
        Ok(())
    }

    fn pass_of(&self, file: &SourceFile, all_have: AllHave<'_>) -> FirstPass {
        let sparse = self.economy.manifests && file.is_sparse();
        if self.economy.sync || sparse || all_have(&file.root) {
            FirstPass::OnDemand
        } else {
            FirstPass::Whole
        }
    }

    fn announcement_of(&self, file: &SourceFile, on_demand: bool) -> Announcement {
        let mut announcement = file.announcement_sent(on_demand);
        if self.economy.sync {
            announcement.details = announcement.details.map(Details::to_be_read);
        }
        announcement
    }

    fn owes_manifest(&self) -> bool {
        self.economy.manifests && !self.manifest_sent
    }

    /// A file that changed before its turn came.
    fn leave_out(&mut self) {
        if let Some(file) = self.to_come.pop_front() {
            self.total -= 1 + u64::from(self.has_manifest(&file) && !self.manifest_sent);
            self.files -= 1;
            self.manifest_sent = false;
            self.changed.push(file.changed_path());
        }
        // The watermark before was not taken for the last one: it is asked for once more.
        if self.to_come.is_empty() {
            if self.marked.is_some() {
                self.again = true;
            } else {
                self.followed = self.followed.min(self.total.saturating_sub(1));
            }
        }
    }

    fn take_manifest(&mut self, key: ObjectKey, manifest: &Manifest, storage: &mut FileStorage) {
        let body = manifest.body();
        self.expected.insert(key.object, *blake3::hash(&body).as_bytes());
        storage.add_bytes(key, body);
        self.manifest_sent = true;
        if let Some(file) = self.to_come.front() {
            self.sent.push(SentObject { key, file: file.clone(), is_manifest: true });
        }
    }

    fn take(
        &mut self,
        key: ObjectKey,
        open: Arc<dyn ReadAt>,
        resumed: bool,
        storage: &mut FileStorage,
    ) {
        self.manifest_sent = false;
        if let Some(file) = self.to_come.pop_front() {
            storage.add_source(key, open);
            self.expected.insert(key.object, file.root);
            if resumed && !self.economy.sync {
                self.resuming.push((key, file.name.clone()));
            }
            self.sent.push(SentObject { key, file, is_manifest: false });
        }
    }

    /// Files that have been enqueued to be resumed, since the last call.
    pub(super) fn take_resuming(&mut self) -> Vec<(ObjectKey, String)> {
        std::mem::take(&mut self.resuming)
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
            let again = std::mem::take(&mut self.again);
            self.followed = if again { marked.min(self.total.saturating_sub(1)) } else { marked };
        }
    }

    /// Whether the watermark under way, or the one before, covers everything.
    pub(super) fn is_last_watermark(&self) -> bool {
        !self.again && self.marked.unwrap_or(self.followed) == self.total && self.rounds_left == 0
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
        let path = object.file.changed_path();
        if !self.changed.contains(&path) {
            self.changed.push(path);
            session.sender().cancel(key.object);
        }
    }

    /// Files that were changed after they had been sent.
    pub(super) fn check_all(&mut self) {
        for object in &self.sent {
            if !object.file.is_unchanged() && !self.changed.contains(&object.file.changed_path()) {
                self.changed.push(object.file.changed_path());
            }
        }
    }

    pub(super) fn name_of(&self, object: u16) -> String {
        let id = ObjectTransportId(object);
        let found = self.sent.iter().rev().find(|sent| sent.key.object == id);
        match found {
            None => format!("object {object}"),
            Some(sent) if sent.is_manifest => format!("{} (manifest)", sent.file.name),
            Some(sent) => sent.file.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{scratch::Scratch, source::Packing};
    use fanfare_proto::{NodeId, SenderConfig, SessionConfig};

    fn session() -> Session {
        let config = SessionConfig {
            node_id: NodeId(1),
            sender: Some(SenderConfig::default()),
            ..SessionConfig::default()
        };
        Session::new(config, 1, Time::ZERO)
    }

    fn files(scratch: &Scratch, count: usize) -> Sources {
        let path = |n: usize| scratch.path().join(format!("{n:03}"));
        (0..count).for_each(|n| std::fs::write(path(n), n.to_string()).unwrap());
        let paths: Vec<PathBuf> = (0..count).map(path).collect();
        Sources::gather_with(&paths, "", Packing::Never, &mut |_| {}).unwrap()
    }

    #[test]
    fn when_the_last_files_change_while_a_watermark_is_answered_it_is_asked_once_more() {
        let scratch = Scratch::new();
        let (mut session, mut storage) = (session(), FileStorage::default());
        let mut queue = Queue::new(files(&scratch, 300), 0, false);
        let nobody = |_: &[u8; 32]| false;
        queue.fill(Time::ZERO, &mut session, &mut storage, &nobody).unwrap();
        assert!(queue.wants_watermark());
        queue.on_watermark_set();
        assert!(!queue.is_last_watermark(), "an answer now is no receipt");
        // A watermark of 256 is under way, and nothing can follow it any more.
        (256..300).for_each(|n| {
            std::fs::write(scratch.path().join(format!("{n:03}")), "changed").unwrap();
        });
        queue.followed = HALF;
        queue.fill(Time::ZERO, &mut session, &mut storage, &nobody).unwrap();
        assert_eq!((queue.total, queue.changed.len()), (256, 44));
        assert!(!queue.is_last_watermark());
        queue.on_watermark_done();
        assert!(!queue.is_followed() && queue.wants_watermark());
        queue.on_watermark_set();
        assert!(queue.is_last_watermark());
        queue.on_watermark_done();
        assert!(queue.is_followed());
    }

    #[test]
    fn a_manifest_goes_ahead_of_each_file_of_more_than_one_group() {
        let scratch = Scratch::new();
        let path = scratch.path().join("large");
        std::fs::write(&path, vec![1; 3 << 20]).unwrap();
        let small = scratch.path().join("small");
        std::fs::write(&small, "x").unwrap();
        let sources = Sources::gather(&[path, small], "", &mut |_| {}).unwrap();
        let root = sources.files[0].root;
        let (mut session, mut storage) = (session(), FileStorage::default());
        let mut queue = Queue::new(sources, 0, false);
        queue.set_economy(Economy { manifests: true, sync: false });
        queue.fill(Time::ZERO, &mut session, &mut storage, &|r| *r == root).unwrap();
        let manifests: Vec<bool> = queue.sent.iter().map(|object| object.is_manifest).collect();
        assert_eq!(manifests, [true, false, false]);
        assert_eq!((queue.total, queue.files, queue.manifests()), (3, 2, 1));
        let resumed = queue.take_resuming();
        assert_eq!((resumed.len(), resumed[0].1.as_str()), (1, "large"));
    }
}
