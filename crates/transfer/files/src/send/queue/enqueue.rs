//! What is to come goes to the core: as much as there is room for, each as it is best sent.

use std::sync::Arc;

use crate::content::{
    announcement::{Announcement, Details, Follows, ObjectMark, Turn},
    manifest::{Manifest, ManifestContext},
    read_at::ReadAt,
    source::SourceFile,
};
use fanfare_proto::{EnqueueError, FirstPass, NewObject, ObjectKey, ObjectKind, Session, Time};

use super::{AllHave, HALF, Queue, RECENT_MAX, Recent, Refused, Resuming, SentObject};
use crate::file_storage::FileStorage;

impl Queue {
    pub(super) fn has_manifest(&self, file: &SourceFile) -> bool {
        self.economy.manifests && file.manifest.is_some()
    }

    /// Whether objects have another id in each round of a carousel.
    pub(in crate::send) fn is_anew(&self) -> bool {
        self.carousel.is_anew()
    }

    /// Hands the core as many objects as may be under way.
    pub(in crate::send) fn fill(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        all_have: AllHave<'_>,
    ) -> Result<(), Refused> {
        let ahead_of = if self.one_way { self.passed } else { self.followed };
        self.advance_again();
        while self.enqueued < ahead_of + 2 * HALF {
            self.take_fed();
            let has_room = if self.to_come.is_empty() {
                self.enqueue_again(now, session, storage)?
            } else {
                self.enqueue_next(now, session, storage, all_have)?
            };
            if !has_room {
                return Ok(());
            }
        }
        Ok(())
    }

    /// False when there is no room, which comes with an event.
    fn enqueue_next(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        all_have: AllHave<'_>,
    ) -> Result<bool, Refused> {
        let Some(file) = self.to_come.front() else { return Ok(false) };
        if file.comes_last() && self.anew.is_busy() {
            return Ok(false);
        }
        // What has changed meanwhile may not be at receivers, or not any more at the sender.
        let outdated = file.is_listing() && !self.changed.is_empty();
        let Some(open) = file.open().filter(|_| !outdated) else {
            self.leave_out();
            return Ok(true);
        };
        let (objects, digest) = (self.expected.len(), self.expected.digest());
        if file.is_listing() {
            self.listing_follows = Some(Follows { objects, digest });
        } else if file.is_tree() {
            self.tree_follows = Some(Follows { objects, digest });
        }
        let turn = self.carousel.turn((self.shed + self.sent.len()) as u64, self.total);
        let of = session.sender().next_key().map(ObjectMark::of);
        if let Some(manifest) = file.manifest.clone().filter(|_| self.owes_manifest()) {
            let object = self.manifest_object(&manifest, turn, of);
            let key = offer(now, session, file, object)?;
            key.inspect(|key| self.take_manifest(*key, &manifest, storage));
            return Ok(key.is_some());
        }
        let pass = self.pass_of(file, all_have);
        let resumed = pass == FirstPass::OnDemand && all_have(&file.root);
        let key = offer(now, session, file, self.file_object(file, pass, turn, of))?;
        key.inspect(|key| self.take(*key, open, resumed, storage));
        Ok(key.is_some())
    }

    /// The next object of a later round. False when there is none, or no room.
    fn enqueue_again(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
    ) -> Result<bool, Refused> {
        let Some(place) = self.carousel.next(self.sent.len()) else { return Ok(false) };
        let turn = self.carousel.turn(place as u64, self.total);
        let of = session.sender().next_key().map(ObjectMark::of);
        let SentObject { file, is_manifest, .. } = &self.sent[place];
        let manifest = file.manifest.clone().filter(|_| *is_manifest);
        let key = match (&manifest, file.open()) {
            (Some(manifest), _) => {
                offer(now, session, file, self.manifest_object(manifest, turn, of))?
                    .inspect(|key| storage.add_bytes(*key, manifest.body()))
            }
            (None, Some(open)) => {
                let ask = self.economy.sync || (self.economy.manifests && file.is_sparse());
                let pass = if ask { FirstPass::OnDemand } else { FirstPass::Whole };
                offer(now, session, file, self.file_object(file, pass, turn, of))?
                    .inspect(|key| storage.add_source(*key, open))
            }
            (None, None) => {
                let path = file.changed_path();
                self.carousel.advance();
                self.note_changed(path);
                self.on_left_out();
                return Ok(true);
            }
        };
        if let Some(key) = key {
            self.sent[place].key = key;
            self.carousel.advance();
            self.note_enqueued(key, place);
        }
        Ok(key.is_some())
    }

    fn file_object(
        &self,
        file: &SourceFile,
        pass: FirstPass,
        turn: Option<Turn>,
        of: Option<ObjectMark>,
    ) -> NewObject {
        let mut announcement = self.announcement_of(file, pass == FirstPass::OnDemand);
        if let Some(details) = &mut announcement.details {
            details.turn = turn;
            details.of = of;
            details.nonce = self.nonce;
            details.listed = self.listed.then_some(true);
            details.follows = match details.is_tree() {
                true => self.tree_follows,
                false => self.listing_follows.filter(|_| details.is_listing()),
            };
        }
        let info = match &self.identity {
            Some(identity) => announcement.encode_signed(identity),
            None => announcement.encode(),
        };
        NewObject { kind: file.kind(), size: file.size, info: Some(info), pass }
    }

    fn manifest_object(
        &self,
        manifest: &Manifest,
        turn: Option<Turn>,
        of: Option<ObjectMark>,
    ) -> NewObject {
        let context = ManifestContext { turn, nonce: self.nonce, of };
        NewObject {
            kind: ObjectKind::Data,
            size: manifest.body().len() as u64,
            info: Some(manifest.info_in(context, self.identity.as_deref())),
            pass: FirstPass::Whole,
        }
    }

    fn pass_of(&self, file: &SourceFile, all_have: AllHave<'_>) -> FirstPass {
        let sparse = self.economy.manifests && file.is_sparse();
        let known = |top: &str| self.economy.known.contains(top);
        let mut tops = file.tops().peekable();
        let is_known = tops.peek().is_some() && tops.all(known);
        if self.economy.sync || is_known || sparse || all_have(&file.root) {
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
            if !file.comes_last() && !self.send_again(&file, None) {
                self.changed.push(file.changed_path());
            }
        }
        self.on_left_out();
    }

    /// The watermark before was not taken for the last one: it is asked for once more.
    fn on_left_out(&mut self) {
        if self.has_more() {
            return;
        }
        if self.marked.is_some() {
            self.again = true;
        } else {
            self.followed = self.followed.min(self.enqueued.saturating_sub(1));
        }
    }

    fn take_manifest(&mut self, key: ObjectKey, manifest: &Manifest, storage: &mut FileStorage) {
        let body = manifest.body();
        let hash = *blake3::hash(&body).as_bytes();
        storage.add_bytes(key, body);
        self.manifest_sent = true;
        if let Some(file) = self.to_come.front() {
            let file = file.clone();
            self.note_sent(SentObject { key, file, is_manifest: true }, hash);
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
            let root = file.root;
            if resumed && !self.economy.sync && !self.is_sent(&root) {
                self.resuming.push(Resuming { key, name: file.name.clone(), root });
            }
            self.note_sent(SentObject { key, file, is_manifest: false }, root);
        }
    }

    /// Whether the same content was sent before, so that receivers have it from this sending.
    fn is_sent(&self, root: &[u8; 32]) -> bool {
        self.sent.iter().any(|sent| !sent.is_manifest && sent.file.root == *root)
    }

    fn note_sent(&mut self, object: SentObject, hash: [u8; 32]) {
        let (key, place) = (object.key, self.shed + self.sent.len());
        if object.file.receipted().is_none() {
            // The last piece of a stream stands for all.
        } else if self.is_anew() {
            self.expected.insert_at(place as u64, hash);
        } else {
            self.expected.insert(key.object, hash);
        }
        self.sent.push_back(object);
        self.note_enqueued(key, place);
    }

    fn note_enqueued(&mut self, key: ObjectKey, place: usize) {
        self.enqueued += 1;
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(Recent { id: key.object, place, passed: false });
    }
}

/// Hands the core an object. `None`: there is no room.
fn offer(
    now: Time,
    session: &mut Session,
    file: &SourceFile,
    object: NewObject,
) -> Result<Option<ObjectKey>, Refused> {
    match session.sender().enqueue(now, object) {
        Ok(key) => Ok(Some(key)),
        Err(EnqueueError::CacheFull { .. }) => Ok(None),
        Err(error) => Err((file.path.clone(), error)),
    }
}
