//! What is held, and what could not be had, of one life of a sender.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::content::{
    announcement::{Announcement, Details, Piece, Turn},
    manifest::Head,
    placed::Placed,
    receipt::{
        About, Failure, Holdings, Reason, State, Status,
        proof::{Nonce, prove, signed},
    },
};
use fanfare_crypto::{Identity, Purpose};
use fanfare_proto::{NodeId, ObjectKey, ObjectTransportId, Time};

use super::{layered_progress::LayeredProgress, mended::Mended};
use crate::verify::{Held, Origin};

/// Failures kept for the status; older ones give way, the sender has heard of them.
const FAILURES_MAX: usize = 100;

/// Objects of which it is known how they were mended.
const MENDED_MAX: usize = 256;

/// An object that is not yet in its place.
#[derive(Debug)]
pub(super) struct OpenObject {
    pub(super) size: u64,
    pub(super) begun: Time,
    pub(super) announcement: Option<Announcement>,
    /// Whole, and with the verifier.
    pub(super) verifying: bool,
    /// It announces the hashes of a file's groups.
    pub(super) manifest: Option<Head>,
    /// Where its content may be already: nothing is asked for until that is known.
    pub(super) origin: Origin,
    /// With the verifier for that.
    pub(super) examined: bool,
    /// An older version is here, and the manifest that tells what of it is right has not come: it is
    /// waited for until then.
    pub(super) awaits_manifest: Option<Time>,
    /// It has been waited for.
    pub(super) awaited_manifest: bool,
    /// Its announcement came with bits turned, and is asked for again.
    pub(super) asks_announcement: bool,
    /// Its announcement is signed by whom the user named.
    pub(super) signed: bool,
    /// What is in its place already: found there, or what another object with the same content
    /// became.
    pub(super) held: Option<Held>,
    /// Which object of a carousel it is.
    pub(super) turn: Option<Turn>,
    /// It was held in a round before.
    pub(super) repeats: bool,
    /// Its bytes, where it is a piece of a stream and was found in its place.
    pub(super) piece_there: Option<Vec<u8>>,
    /// It comes by layers.
    pub(super) layered: Option<LayeredProgress>,
    /// Of how many the application has heard.
    pub(super) told_level: usize,
}

impl OpenObject {
    pub(super) fn new(size: u64, begun: Time) -> Self {
        Self {
            size,
            begun,
            announcement: None,
            verifying: false,
            manifest: None,
            origin: Origin::Received,
            examined: false,
            awaits_manifest: None,
            awaited_manifest: false,
            asks_announcement: false,
            signed: false,
            held: None,
            turn: None,
            repeats: false,
            piece_there: None,
            layered: None,
            told_level: 0,
        }
    }

    /// It is a piece of a stream: what is said of it, and its hash.
    pub(super) fn as_piece(&self) -> Option<(&Piece, [u8; 32])> {
        let details = self.details()?;
        Some((details.as_piece()?, details.root))
    }

    /// It is a listing, and whole.
    pub(super) fn is_waiting_listing(&self) -> bool {
        self.verifying && self.is_listing()
    }

    /// It is a tree, and whole.
    pub(super) fn is_waiting_tree(&self) -> bool {
        self.verifying && self.is_tree()
    }

    /// It says what the directories that were sent are beside their files.
    pub(super) fn is_tree(&self) -> bool {
        self.details().is_some_and(Details::is_tree)
    }

    /// It says what is in the directories that were sent.
    pub(super) fn is_listing(&self) -> bool {
        self.details().is_some_and(Details::is_listing)
    }

    /// It holds many files.
    pub(super) fn is_pack(&self) -> bool {
        self.details().is_some_and(Details::is_pack)
    }

    pub(super) fn details(&self) -> Option<&Details> {
        self.announcement.as_ref()?.details.as_ref()
    }

    pub(super) fn name(&self) -> Option<String> {
        self.announcement.as_ref().and_then(Announcement::shown_name)
    }
}

/// How far a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamState {
    /// Not at its end.
    Coming,
    /// In its place.
    Whole,
    /// It cannot be had.
    Failed,
}

/// A file that is kept aside.
#[derive(Debug)]
pub(super) struct DisplacedFile {
    /// Object that the file is of.
    pub(super) key: ObjectKey,
    pub(super) placed: Placed,
    pub(super) turn: Option<Turn>,
    /// Time since the object began.
    pub(super) elapsed: Duration,
}

/// One life of a sender.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) open: BTreeMap<ObjectKey, OpenObject>,
    pub(super) holdings: Holdings,
    failures: Vec<Failure>,
    /// Objects that failed, each counted once, and their places in a carousel.
    failed: BTreeMap<u16, Option<u64>>,
    /// Of a carousel, what was announced last.
    turn: Option<Turn>,
    /// Objects in whose place others are sent.
    pub(super) replaced: BTreeSet<u16>,
    /// Memory of what proved wrong, by object.
    mended: BTreeMap<u16, Mended>,
    /// Files that are kept aside until a listing says what becomes of what has their names.
    pub(super) displaced: Vec<DisplacedFile>,
    /// A listing of it has been followed, and so many names were removed.
    pub(super) mirrored: Option<u64>,
    /// Objects announced, but for those that were forgotten and may come anew.
    pub(super) announced: u64,
    /// Files announced, of objects that were not refused.
    pub(super) taken_files: u64,
    /// Bytes of objects that are no longer open.
    pub(super) settled_bytes: u64,
    /// Bytes that are here, as they were counted last.
    pub(super) received: u64,
    /// It said good-bye, or was not heard for long.
    pub(super) gone: bool,
    /// It said good-bye.
    pub(super) left: bool,
    /// It goes on without us.
    pub(super) evicted: bool,
    /// A stream of it has begun.
    pub(super) stream: Option<StreamState>,
    /// The number of this sending.
    pub(super) nonce: Option<Nonce>,
    /// What it sends is signed, and it wants signed receipts.
    pub(super) signed: bool,
}

impl Record {
    /// Files that are kept aside.
    pub(super) fn displaced(&self) -> impl Iterator<Item = &Placed> {
        self.displaced.iter().map(|displaced| &displaced.placed)
    }

    /// Memory of what of this object proved wrong so far.
    pub(super) fn mended(&mut self, object: u16) -> &mut Mended {
        if self.mended.len() >= MENDED_MAX && !self.mended.contains_key(&object) {
            self.mended.pop_first();
        }
        self.mended.entry(object).or_default()
    }

    /// What an announcement says of its sending: the latest counts.
    pub(super) fn on_nonce(&mut self, nonce: Option<Nonce>) {
        self.nonce = nonce.or(self.nonce);
    }

    pub(super) fn fail(&mut self, key: ObjectKey, turn: Option<Turn>, reason: Reason) {
        let place = turn.map(|turn| turn.place);
        if reason.is_failure() {
            self.forgive(place);
            self.failed.insert(key.object.0, place);
        }
        if self.failures.len() >= FAILURES_MAX {
            self.failures.remove(0);
        }
        self.failures.push(Failure { object: key.object.0, reason });
    }

    /// It is in its place. Returns what of its failures in earlier rounds counts no more.
    pub(super) fn hold(
        &mut self,
        key: ObjectKey,
        turn: Option<Turn>,
        root: [u8; 32],
    ) -> Vec<ObjectTransportId> {
        match turn {
            Some(turn) => self.holdings.insert_at(turn.place, root),
            None => self.holdings.insert(key.object, root),
        }
        let all_held = turn.is_some_and(|turn| self.holdings.len() >= turn.objects);
        let mut past = self.forgive(turn.map(|turn| turn.place));
        if all_held {
            // An object whose announcement was lost has no place. Everything is here: so is that.
            past.extend(std::mem::take(&mut self.failed).into_keys().map(ObjectTransportId));
            self.failures.retain(|failure| !failure.reason.is_failure());
        }
        past
    }

    fn forgive(&mut self, place: Option<u64>) -> Vec<ObjectTransportId> {
        let Some(place) = place else { return Vec::new() };
        let past = self.failed.iter().filter(|(_, failed)| **failed == Some(place));
        let past: Vec<u16> = past.map(|(object, _)| *object).collect();
        for object in &past {
            self.failed.remove(object);
            self.failures.retain(|failure| failure.object != *object);
        }
        past.into_iter().map(ObjectTransportId).collect()
    }

    /// An object of a carousel is announced. True when it was held in a round before.
    pub(super) fn on_turn(&mut self, turn: Turn, root: &[u8; 32]) -> bool {
        self.turn = Some(turn);
        self.holdings.has_at(turn.place, root)
    }

    /// Whether an object that cannot be had now is no loss: it comes again in the next round, or
    /// everything is here.
    pub(super) fn can_spare(&self, object: Option<Turn>) -> bool {
        object.or(self.turn).is_some_and(|turn| {
            (turn.rounds > 0 && !self.gone) || self.holdings.len() >= turn.objects
        })
    }

    /// Another object came in its place before it was whole.
    pub(super) fn is_replaced(&self, key: ObjectKey) -> bool {
        !self.open.contains_key(&key) && self.replaced.contains(&key.object.0)
    }

    /// It has failed, and was not announced anew.
    pub(super) fn is_given_up(&self, key: ObjectKey) -> bool {
        !self.open.contains_key(&key) && self.failed.contains_key(&key.object.0)
    }

    /// Signs what is held, where its sender wants that and nothing is to come for now.
    pub(super) fn sign(&self, status: &mut Status, own: NodeId, identity: Option<&Identity>) {
        let Some(identity) = identity.filter(|_| self.signed && self.is_settled()) else { return };
        if let (Some(nonce), Some(about)) = (self.nonce, status.about) {
            let what = signed(nonce, about, own, &status.digest);
            status.key = Some(identity.public().0);
            status.signature = Some(identity.sign(Purpose::Receipt, &what));
        }
    }

    /// Objects that are not whole are no longer open.
    pub(super) fn take_unproved(&mut self) -> Vec<ObjectKey> {
        let unproved = self.open.extract_if(.., |_, object| !object.verifying);
        let unproved: Vec<(ObjectKey, OpenObject)> = unproved.collect();
        unproved.iter().for_each(|(_, object)| self.uncount(object));
        unproved.into_iter().map(|(key, _)| key).collect()
    }

    /// An object is no longer under way, and may come anew.
    pub(super) fn forget(&mut self, key: ObjectKey) {
        if let Some(object) = self.open.remove(&key) {
            self.uncount(&object);
        }
    }

    fn uncount(&mut self, object: &OpenObject) {
        self.announced -= u64::from(object.announcement.is_some()).min(self.announced);
    }

    /// What could not be had is not lost any more. Returns which objects it was.
    pub(super) fn take_failed(&mut self) -> Vec<u16> {
        self.failures.clear();
        self.announced = self.announced.saturating_sub(self.failed_count());
        std::mem::take(&mut self.failed).into_keys().collect()
    }

    /// Another object is held in the place of this one.
    pub(super) fn replace(&mut self, object: u16) {
        self.failed.remove(&object);
        self.displaced.retain(|displaced| displaced.key.object.0 != object);
        self.failures.retain(|failure| failure.object != object);
        self.holdings.remove(ObjectTransportId(object));
    }

    /// Nothing of it is under way any more.
    pub(super) fn is_settled(&self) -> bool {
        self.open.is_empty() && self.stream != Some(StreamState::Coming)
    }

    /// A stream of this sender cannot be had.
    pub(super) fn has_broken_stream(&self) -> bool {
        self.stream == Some(StreamState::Failed)
    }

    /// The sender is heard, or heard again.
    pub(super) fn is_back(&mut self) {
        (self.gone, self.left) = (false, false);
    }

    /// It has said that nothing more comes for us.
    pub(super) fn has_ended(&self) -> bool {
        self.left || self.evicted
    }

    /// Objects that it has begun.
    pub(super) fn begun(&self) -> u64 {
        self.announced.max(self.holdings.len() + self.failed_count())
    }

    pub(super) fn has_anything(&self) -> bool {
        !self.holdings.is_empty() || !self.failed.is_empty()
    }

    /// Something of a transfer has come, if only in part.
    pub(super) fn has_begun(&self) -> bool {
        self.has_anything() || !self.open.is_empty() || self.stream.is_some()
    }

    /// A stream is on its way, even if no piece of it is at the moment.
    pub(super) fn has_stream_coming(&self) -> bool {
        self.stream == Some(StreamState::Coming)
    }

    /// Objects that could not be had.
    pub(super) fn failed_count(&self) -> u64 {
        self.failed.len() as u64
    }

    pub(super) fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    fn state(&self) -> State {
        let coming = self.stream == Some(StreamState::Coming);
        if coming || self.open.values().any(|object| !object.verifying) {
            State::Receiving
        } else if !self.open.is_empty() {
            State::Verifying
        } else if !self.failed.is_empty() {
            State::Failed
        } else if !self.holdings.is_empty() {
            State::Done
        } else {
            State::Ready
        }
    }

    /// Bytes of this object that are here; `known` is what the core says of it.
    pub(super) fn bytes_of(object: &OpenObject, known: Option<u64>) -> u64 {
        let known = known.or(object.layered.map(|layered| layered.bytes));
        known.unwrap_or(if object.verifying { object.size } else { 0 })
    }

    /// Counts what is here. `known` is what the core has of an object.
    pub(super) fn count_received(&mut self, known: impl Fn(ObjectKey) -> Option<u64>) {
        let open = self.open.iter().map(|(key, object)| Self::bytes_of(object, known(*key)));
        self.received = self.settled_bytes + open.sum::<u64>();
    }

    /// What to tell its sender; `ready` is what any sender is told.
    pub(super) fn status(&self, ready: Status, about: About, own: NodeId) -> Status {
        let mut status = ready;
        status.received = Some(self.received);
        status.state = self.state();
        status.about = Some(about);
        status.held = self.holdings.len();
        status.digest = self.holdings.digest();
        status.proof = self.nonce.map(|nonce| prove(nonce, about, own, &status.digest));
        status.failures.clone_from(&self.failures);
        status
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, ObjectTransportId};

    use super::*;

    fn key(object: u16) -> ObjectKey {
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(object) }
    }

    fn open(verifying: bool) -> OpenObject {
        OpenObject { verifying, ..OpenObject::new(1, Time::ZERO) }
    }

    fn state(record: &Record) -> State {
        record.status(Status::ready("a", 0), About::new(NodeId(1), InstanceId(1)), NodeId(7)).state
    }

    #[test]
    fn of_a_few_hundred_objects_it_is_known_how_they_were_mended() {
        let mut record = Record::default();
        for object in 0..1000 {
            assert!(record.mended(object).on_wrong_announcement(Time::ZERO));
        }
        assert_eq!(record.mended.len(), MENDED_MAX);
    }

    #[test]
    fn the_state_says_what_is_being_done() {
        let mut record = Record::default();
        assert_eq!(state(&record), State::Ready);
        record.open.insert(key(1), open(false));
        record.open.insert(key(2), open(true));
        assert_eq!(state(&record), State::Receiving);
        record.open.remove(&key(1));
        assert_eq!(state(&record), State::Verifying);
        record.open.clear();
        record.hold(key(2), None, [0; 32]);
        assert_eq!(state(&record), State::Done);
        record.fail(key(1), None, Reason::NameRejected);
        assert_eq!(state(&record), State::Done);
        record.fail(key(1), None, Reason::DiskFull);
        assert_eq!(state(&record), State::Failed);
    }
}
