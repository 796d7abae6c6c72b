//! Which objects are with the core, which are to come, and how far receivers have followed.
//!
//! Receivers keep 256 object ids in view, so no more than that may be under way beyond what all of
//! them have acknowledged: watermarks in the middle hold the sender back. The next half is
//! enqueued while the half before is being acknowledged, so that the line never idles.
//!
//! - `enqueue`: handing the core what is to come; here: how far it and the receivers are
//! - `again`: what has changed meanwhile; `retaking`: its new place in the queue
//! - `fed`: a stream; `pieces`: those of it that are in the queue

mod again;
mod enqueue;
mod fed;
mod pieces;
mod retaking;

use std::{
    collections::{BTreeSet, VecDeque},
    path::PathBuf,
    sync::Arc,
};

use crate::content::{
    announcement::Follows,
    receipt::{Holdings, proof::Nonce},
    source::{SourceFile, Sources},
    stream::piece::PIECE_MAX,
};
use fanfare_crypto::Identity;
use fanfare_proto::{EnqueueError, ObjectKey, ObjectTransportId, Session};

use super::carousel::Carousel;
use again::Again;
use fed::Stream;

/// Half of the objects that receivers keep in view.
const HALF: u64 = 128;
/// Bytes of a stream between two watermarks.
pub(super) const WATERMARK_BYTES: u64 = HALF * PIECE_MAX as u64;
/// Objects known by their id: those with the core, and as many that it has let go lately.
const RECENT_MAX: usize = 512;

/// What is known of an object after it was handed to the core.
#[derive(Debug)]
pub(super) struct SentObject {
    /// The latest, in a carousel.
    pub(super) key: ObjectKey,
    pub(super) file: SourceFile,
    /// It is not the file itself but the manifest that goes ahead of it.
    pub(super) is_manifest: bool,
}

/// An object that was enqueued lately.
#[derive(Debug)]
struct Recent {
    id: ObjectTransportId,
    /// Its place among those sent.
    place: usize,
    /// It was sent once in full, or withdrawn.
    passed: bool,
}

/// A file that goes on demand because all have it, or a part.
#[derive(Debug)]
pub(super) struct Resuming {
    pub(super) key: ObjectKey,
    pub(super) name: String,
    pub(super) root: [u8; 32],
}

/// What of the objects need not be sent unasked, and what goes with them.
#[derive(Debug, Default)]
pub(super) struct Economy {
    /// Receivers that understand manifests listen.
    pub(super) manifests: bool,
    /// Receivers are expected to have most of everything.
    pub(super) sync: bool,
    /// The same of what is beneath these names.
    pub(super) known: BTreeSet<String>,
}

/// Whether everybody says of a root that it is there, whole or in part.
pub(super) type AllHave<'a> = &'a dyn Fn(&[u8; 32]) -> bool;

/// A file that the core does not take, and why.
type Refused = (PathBuf, EnqueueError);

/// All objects of one sending.
#[derive(Debug)]
pub(super) struct Queue {
    to_come: VecDeque<SourceFile>,
    pub(super) sent: VecDeque<SentObject>,
    /// So many are not in `sent` any more: pieces of a stream that all have.
    shed: usize,
    /// What is read and sent as it comes.
    pub(super) stream: Option<Stream>,
    recent: VecDeque<Recent>,
    /// Objects of a round, manifests among them.
    pub(super) total: u64,
    /// Files in all.
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// Digests what a receiver of everything holds.
    pub(super) expected: Holdings,
    /// What is sent before the listing, and before the tree.
    listing_follows: Option<Follows>,
    /// A listing is sent.
    listed: bool,
    tree_follows: Option<Follows>,
    economy: Economy,
    /// Files that go on demand because all have them, or a part, not yet told to the user.
    resuming: Vec<Resuming>,
    /// The manifest of the next file has been enqueued.
    manifest_sent: bool,
    /// Objects enqueued so far, in all rounds.
    enqueued: u64,
    /// Those of them that were sent once in full.
    passed: u64,
    /// Objects up to which all receivers have followed.
    followed: u64,
    /// Objects that the watermark under way covers.
    marked: Option<u64>,
    /// The watermark under way was not taken for the last one, and has become it: once more.
    again: bool,
    carousel: Carousel,
    one_way: bool,
    /// What announcements say of this sending, where acknowledgements are wanted.
    nonce: Option<Nonce>,
    /// Signs announcements.
    identity: Option<Arc<Identity>>,
    /// What has changed, and is read anew.
    anew: Again,
    pub(super) changed: Vec<PathBuf>,
    /// Files that are sent again because they changed, and have not been told of.
    again_told: Vec<PathBuf>,
}

impl Queue {
    pub(super) fn new(sources: Sources, rounds: u32, one_way: bool) -> Self {
        let files = sources.files.len() as u64 + u64::from(sources.is_stream());
        let listed = sources.files.iter().any(SourceFile::is_listing);
        Self {
            total: files,
            files,
            bytes: sources.bytes,
            to_come: sources.files,
            sent: VecDeque::new(),
            shed: 0,
            stream: sources.stream.map(Stream::new),
            recent: VecDeque::new(),
            expected: Holdings::default(),
            listing_follows: None,
            listed,
            tree_follows: None,
            economy: Economy::default(),
            resuming: Vec::new(),
            manifest_sent: false,
            enqueued: 0,
            passed: 0,
            followed: 0,
            marked: None,
            again: false,
            carousel: Carousel::new(rounds),
            one_way,
            nonce: None,
            identity: None,
            anew: Again::default(),
            changed: Vec::new(),
            again_told: Vec::new(),
        }
    }

    /// Before anything has been enqueued: how to send it.
    pub(super) fn set_economy(&mut self, economy: Economy) {
        self.economy = economy;
        if !self.one_way && !self.economy.manifests {
            self.leave_tree();
        }
        let manifests = self.to_come.iter().filter(|file| self.has_manifest(file)).count();
        self.total = self.files + manifests as u64;
        self.carousel.plan(self.total, 2 * HALF);
    }

    /// Before anything has been enqueued: what acknowledgements have to prove that they have heard.
    pub(super) fn set_nonce(&mut self, nonce: Nonce) {
        self.nonce = Some(nonce).filter(|_| !self.one_way);
    }

    /// Before anything has been enqueued: who signs what is announced.
    pub(super) fn set_identity(&mut self, identity: Option<Arc<Identity>>) {
        self.identity = identity;
    }

    /// What everybody announces, if acknowledgements are wanted.
    pub(super) fn nonce(&self) -> Option<Nonce> {
        self.nonce
    }

    /// The names that receivers have directly in their directories, when they have everything.
    pub(super) fn tops(&self) -> BTreeSet<String> {
        let tops = self.to_come.iter().flat_map(SourceFile::tops);
        tops.map(str::to_owned).collect()
    }

    /// Nobody listens who understands it.
    fn leave_tree(&mut self) {
        if let Some(tree) = self.to_come.pop_back_if(|last| last.is_tree()) {
            self.files -= 1;
            self.bytes -= tree.size;
        }
    }

    pub(super) fn manifests(&self) -> u64 {
        self.total - self.files
    }

    fn recent_mut(&mut self, id: ObjectTransportId) -> Option<&mut Recent> {
        self.recent.iter_mut().rev().find(|recent| recent.id == id)
    }

    /// Files that have been enqueued to be resumed, since the last call.
    pub(super) fn take_resuming(&mut self) -> Vec<Resuming> {
        std::mem::take(&mut self.resuming)
    }

    /// Files that have changed and are sent again, since the last call.
    pub(super) fn take_again(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.again_told)
    }

    /// Whether objects are still to be enqueued.
    fn has_more(&self) -> bool {
        !self.to_come.is_empty()
            || self.anew.is_busy()
            || self.has_input()
            || self.carousel.has_next(self.sent.len())
    }

    /// Whether everything has been enqueued, and requeued, in all rounds.
    fn is_all_enqueued(&self) -> bool {
        !self.has_more() && self.carousel.is_last()
    }

    /// Whether a watermark is due: what it covers is enough, or all there is.
    pub(super) fn wants_watermark(&self) -> bool {
        let enough = self.enqueued >= self.followed + HALF && self.has_more();
        let due = enough || self.is_all_enqueued();
        !self.one_way && self.marked.is_none() && self.enqueued > self.followed && due
    }

    pub(super) fn on_watermark_set(&mut self) {
        self.marked = Some(self.enqueued);
    }

    /// Everybody asked has answered, or will not.
    pub(super) fn on_watermark_done(&mut self) {
        if let Some(marked) = self.marked.take() {
            let again = std::mem::take(&mut self.again);
            self.followed =
                if again { marked.min(self.enqueued.saturating_sub(1)) } else { marked };
        }
    }

    /// Whether the watermark under way, or the one before, covers everything.
    pub(super) fn is_last_watermark(&self) -> bool {
        let covered = self.marked.unwrap_or(self.followed);
        !self.again && self.is_all_enqueued() && covered == self.enqueued
    }

    /// Whether everything has been enqueued, sent in all rounds, and followed by all.
    pub(super) fn is_followed(&self) -> bool {
        self.is_all_enqueued() && self.followed == self.enqueued
    }

    /// Everything has been sent in all rounds.
    pub(super) fn is_passed(&self) -> bool {
        self.is_all_enqueued() && self.passed >= self.enqueued
    }

    /// Whether this id was given in the last round: what is said of another may be past.
    pub(super) fn is_of_last_round(&self, object: u16) -> bool {
        let newest = self.recent.back().map_or(ObjectTransportId(0), |recent| recent.id);
        let steps = ObjectTransportId(object).distance_to(newest);
        u64::try_from(steps).is_ok_and(|steps| steps < self.total)
    }

    /// The core has sent an object once in full.
    pub(super) fn on_object_sent(&mut self, key: ObjectKey, session: &mut Session) {
        self.note_passed(key);
        let place = self.recent_mut(key.object).map(|recent| recent.place);
        let sent = place.and_then(|place| self.sent_at(place));
        if sent.is_some_and(|sent| !sent.file.is_unchanged()) {
            self.withdraw(key, session);
        }
        if !self.has_more() && self.passed >= self.enqueued {
            // The core tells the end of the first round only; it counts the others itself.
            for _ in 0..self.carousel.take_rounds() {
                for object in &self.sent {
                    session.sender().requeue(object.key.object);
                }
            }
        }
    }

    /// The name of the stream that is sent, if it is one.
    pub(super) fn stream_name(&self) -> Option<&str> {
        self.stream.as_ref().map(Stream::name)
    }

    /// The file that has this id; none for manifests and pieces of streams.
    pub(super) fn file_of(&mut self, id: ObjectTransportId) -> Option<&SourceFile> {
        let place = self.recent_mut(id).map(|recent| recent.place)?;
        let sent = self.sent_at(place).filter(|sent| !sent.is_manifest && !sent.file.is_piece());
        sent.map(|sent| &sent.file)
    }

    fn note_passed(&mut self, key: ObjectKey) {
        let recent = self.recent_mut(key.object).filter(|recent| !recent.passed);
        let is_first = recent.map(|recent| recent.passed = true).is_some();
        self.passed += u64::from(is_first);
    }

    /// Takes back an object whose file changed; receivers are told.
    pub(super) fn withdraw(&mut self, key: ObjectKey, session: &mut Session) {
        // No end of its pass will be told.
        self.note_passed(key);
        let Some(place) = self.recent_mut(key.object).map(|recent| recent.place) else { return };
        let Some(sent) = self.sent_at(place).filter(|sent| !sent.is_manifest) else { return };
        let file = sent.file.clone();
        if self.is_withdrawn(key.object.0) {
            return;
        }
        if self.send_again(&file, Some(key)) {
            self.again_told.push(file.changed_path());
            self.total -= 1;
            session.sender().cancel(key.object);
        } else if self.note_changed(file.changed_path()) {
            session.sender().cancel(key.object);
        }
    }

    /// False when that was known.
    fn note_changed(&mut self, path: PathBuf) -> bool {
        let is_new = !self.changed.contains(&path);
        self.changed.extend(Some(path).filter(|_| is_new));
        is_new
    }

    /// Files that were changed after they had been sent.
    pub(super) fn check_all(&mut self) {
        for object in &self.sent {
            if !object.is_manifest
                && !self.anew.has_withdrawn(object.key.object.0)
                && !object.file.is_unchanged()
                && !self.changed.contains(&object.file.changed_path())
            {
                self.changed.push(object.file.changed_path());
            }
        }
    }

    /// Bytes of all rounds, where each is enqueued.
    pub(super) fn bytes_to_send(&self) -> u64 {
        self.bytes * self.carousel.rounds_enqueued()
    }

    pub(super) fn name_of(&self, object: u16) -> String {
        let id = ObjectTransportId(object);
        let recent = self.recent.iter().rev().find(|recent| recent.id == id);
        let found = match recent {
            Some(recent) => self.sent_at(recent.place),
            None => self.sent.iter().rev().find(|sent| sent.key.object == id),
        };
        match found {
            None => format!("object {object}"),
            Some(sent) if sent.is_manifest => format!("{} (manifest)", sent.file.name),
            Some(sent) => sent.file.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::content::source::Packing;
    use fanfare_node::disk::scratch::Scratch;
    use fanfare_proto::{NodeId, SenderConfig, SessionConfig, Time};

    use super::*;
    use crate::file_storage::FileStorage;

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
        retaken(Sources::gather_with(&paths, "", Packing::Never, &mut |_| {}).unwrap())
    }

    /// What has changed is not sent again.
    fn retaken(mut sources: Sources) -> Sources {
        sources.files = sources.files.into_iter().map(SourceFile::retaken).collect();
        sources
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
    fn where_a_file_has_changed_no_listing_says_what_may_be_removed() {
        let list = |changes: bool| {
            let scratch = Scratch::new();
            let root = scratch.path().join("t");
            std::fs::create_dir(&root).unwrap();
            (0..2).for_each(|n| std::fs::write(root.join(n.to_string()), "x").unwrap());
            let paths = [root.clone()];
            let sources = Sources::gather_listed(&paths, "", Packing::Never, &mut |_| {}).unwrap();
            let sources = retaken(sources);
            if changes {
                std::fs::write(root.join("1"), "changed").unwrap();
            }
            let (mut session, mut storage) = (session(), FileStorage::default());
            let mut queue = Queue::new(sources, 0, false);
            queue.fill(Time::ZERO, &mut session, &mut storage, &|_| false).unwrap();
            let names: Vec<&str> = queue.sent.iter().map(|sent| sent.file.name.as_str()).collect();
            (names.join(" "), queue.total, queue.changed.len())
        };
        assert_eq!(list(false), ("t/0 t/1 listing tree".to_owned(), 4, 0));
        assert_eq!(list(true), ("t/0 tree".to_owned(), 2, 1));
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
        queue.set_economy(Economy { manifests: true, ..Economy::default() });
        queue.fill(Time::ZERO, &mut session, &mut storage, &|r| *r == root).unwrap();
        let manifests: Vec<bool> = queue.sent.iter().map(|object| object.is_manifest).collect();
        assert_eq!(manifests, [true, false, false]);
        assert_eq!((queue.total, queue.files, queue.manifests()), (3, 2, 1));
        let resumed = queue.take_resuming();
        assert_eq!((resumed.len(), resumed[0].name.as_str()), (1, "large"));
    }
}
