//! Listings that have come: each waits until everything else that its sender sent is settled, and is
//! then acted on by a thread of its own, since a disk takes as long as it likes.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, TryRecvError, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use fanfare_disk::placement::Conflict;
use fanfare_node::Waker;
use fanfare_proto::{ObjectKey, Session, Time};

use super::{
    ReceiveJob,
    record::{OpenObject, Record},
};
use crate::event::Outbox;
use crate::{
    announcement::Details,
    event::{ReceiveEvent, TransferEvent},
    file_storage::FileStorage,
    listing::{Limits, Outcome, Removal, Step},
    receipt::Reason,
    verify::Held,
};

/// Steps told and not yet taken: an application that does not read holds up the removal, and nothing
/// else.
const STEPS: usize = 16;
/// Objects that came before this receiver did, and that it will not get, show by nothing new coming
/// for so long: many round trips, even by satellite.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Listings of all senders.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    waker: Option<Waker>,
    /// Whole, and waiting for what was sent before them.
    waiting: Vec<ObjectKey>,
    /// One after the other: they may be about the same directories.
    ready: VecDeque<(ObjectKey, Removal)>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    key: ObjectKey,
    steps: Option<Receiver<Step>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(key: ObjectKey, removal: Removal, waker: Option<Waker>) -> Option<Self> {
        let (steps, taken) = sync_channel(STEPS);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().name("fanfare-delete".into());
        let thread = thread.spawn(move || {
            removal.run(&stopped, &mut |step| {
                let sent = steps.send(step).is_ok();
                waker.iter().for_each(Waker::wake);
                sent
            });
        });
        Some(Self { key, steps: Some(taken), stop, thread: Some(thread.ok()?) })
    }
}

impl Drop for Running {
    /// It stops after the name that it is at; what is left is for another time.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Whoever waits for its steps to be taken is told that nobody will.
        self.steps = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is to be done about a listing now.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Wait,
    Go,
    /// Not everything that was sent before it is held.
    Incomplete,
}

/// `news`: how long nothing new has come.
fn judge(record: &Record, details: &Details, news: Duration) -> Verdict {
    let Some(follows) = details.follows else { return Verdict::Incomplete };
    // Others under way, apart from listings that wait as well, and from the tree, which waits for them.
    let waits = |object: &OpenObject| object.is_waiting_listing() || object.is_waiting_tree();
    if record.open.values().any(|object| !waits(object)) {
        return Verdict::Wait;
    }
    if record.holdings.len() >= follows.objects && record.holdings.digest() == follows.digest {
        return Verdict::Go;
    }
    let settled = record.holdings.len() + record.failed_count() >= follows.objects;
    if settled || record.has_failed() || record.gone || news >= PATIENCE {
        Verdict::Incomplete
    } else {
        Verdict::Wait
    }
}

impl Deletions {
    /// Nothing more is to be removed.
    pub(super) fn stop(&mut self) {
        self.ready.clear();
        if let Some(running) = &self.running {
            running.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl ReceiveJob {
    /// Whose threads are to be woken when one has done something.
    pub(crate) fn wake_by(&mut self, waker: Waker) {
        self.trees.waker = Some(waker.clone());
        self.deletions.waker = Some(waker);
    }

    /// A listing is whole.
    pub(super) fn on_listing(&mut self, session: &mut Session, key: ObjectKey) {
        self.deletions.waiting.push(key);
        self.update_status(session, key, false);
    }

    /// Acts on listings for which it is time, and takes what came of them.
    pub(super) fn advance_deletions(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        for key in std::mem::take(&mut self.deletions.waiting) {
            self.settle_listing(now, session, storage, key, out);
        }
        self.take_steps(now, session, storage, out);
        while self.deletions.running.is_none()
            && let Some((key, removal)) = self.deletions.ready.pop_front()
        {
            if !self.record_of(key).open.contains_key(&key) {
                continue;
            }
            self.deletions.running = Running::start(key, removal, self.deletions.waker.clone());
            if self.deletions.running.is_none() {
                self.fail(now, session, storage, key, Reason::DiskError, out);
            }
        }
    }

    fn settle_listing(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        out: &mut Outbox,
    ) {
        let news = now.since(self.last_news);
        let record = self.record_of(key);
        let Some(object) = record.open.get(&key) else { return };
        let (size, turn, announcement) = (object.size, object.turn, object.announcement.as_ref());
        let Some(details) = announcement.and_then(|a| a.details.clone()) else { return };
        // The same one, of another round of a carousel, has been followed.
        if turn.is_some_and(|turn| record.holdings.has_at(turn.place, &details.root)) {
            return self.on_repeated(session, storage, key);
        }
        match judge(record, &details, news) {
            Verdict::Wait => self.deletions.waiting.push(key),
            Verdict::Incomplete if record.can_spare(turn) => {
                // It comes again in the next round, and perhaps what is lacking before it.
                self.let_go(session, storage, key);
                session.receiver().confirm(key);
            }
            Verdict::Incomplete => {
                let why = "not everything else that was sent is here".to_owned();
                let refused = Some((Reason::DeleteIncomplete, why));
                let outcome = Outcome { roots: Vec::new(), extra: None, deleted: 0, refused };
                self.on_deletion(now, session, storage, key, outcome, out);
            }
            Verdict::Go => match storage.finished(key) {
                Some(part) => {
                    let (directory, root) = (self.directory.clone(), details.root);
                    let limits = Limits {
                        allowed: self.options.allow_delete,
                        max: self.options.max_delete,
                        keep_numbered: self.options.conflict != Conflict::Overwrite,
                    };
                    let removal = Removal { directory, part, size, root, limits };
                    self.deletions.ready.push_back((key, removal));
                }
                None => self.fail(now, session, storage, key, Reason::DiskError, out),
            },
        }
    }

    fn take_steps(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        while out.has_room() {
            let Some(Running { key, steps: Some(steps), .. }) = &self.deletions.running else {
                return;
            };
            let key = *key;
            let outcome = match steps.try_recv() {
                Ok(Step::Deleted(names)) => {
                    self.last_news = now;
                    let event = |name| TransferEvent::Receive(ReceiveEvent::Deleted { key, name });
                    out.push_all(names.into_iter().map(event));
                    continue;
                }
                Ok(Step::Done(outcome)) => outcome,
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => Outcome {
                    roots: Vec::new(),
                    extra: None,
                    deleted: 0,
                    refused: Some((Reason::DiskError, "its thread has ended".to_owned())),
                },
            };
            self.deletions.running = None;
            self.on_deletion(now, session, storage, key, outcome, out);
        }
    }

    fn on_deletion(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        key: ObjectKey,
        outcome: Outcome,
        out: &mut Outbox,
    ) {
        self.last_news = now;
        let reason = outcome.refused.as_ref().map(|(reason, _)| *reason);
        self.report.deleted += outcome.deleted;
        let Outcome { roots, extra, deleted, refused } = outcome;
        let deletion = ReceiveEvent::Deletion { key, roots, extra, deleted, refused };
        out.push(TransferEvent::Receive(deletion));
        // It may have been given up meanwhile, together with its sender.
        let Some(object) = self.record_of(key).open.get(&key) else { return };
        let details = object.announcement.as_ref().and_then(|a| a.details.as_ref());
        let (hash, size) = (details.map_or([0; 32], |details| details.root), object.size);
        match reason {
            None => {
                let held = Held { hash, size, files: Vec::new(), failures: Vec::new() };
                self.on_held(now, session, storage, key, held, out);
            }
            Some(reason) => self.fail(now, session, storage, key, reason, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;
    use crate::announcement::{Announcement, Follows};

    const SOON: Duration = Duration::ZERO;

    fn key(object: u16) -> ObjectKey {
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(object) }
    }

    /// A listing that follows two objects, of which so many are held.
    fn waiting(held: u16) -> (Record, Details) {
        let mut all = crate::receipt::Holdings::default();
        (0..2).for_each(|n| all.insert(ObjectTransportId(n), [n as u8; 32]));
        let follows = Follows { objects: all.len(), digest: all.digest() };
        let details = Details::of_listing(100, [9; 32], Some(follows));
        let mut record = Record::default();
        (0..held).for_each(|n| record.holdings.insert(ObjectTransportId(n), [n as u8; 32]));
        let announcement = Announcement { name: Vec::new(), details: Some(details.clone()) };
        let listing = OpenObject {
            verifying: true,
            announcement: Some(announcement),
            ..OpenObject::new(100, Time::ZERO)
        };
        record.open.insert(key(2), listing);
        (record, details)
    }

    #[test]
    fn a_listing_is_acted_on_once_everything_before_it_is_held() {
        let (mut record, details) = waiting(2);
        assert_eq!(judge(&record, &details, SOON), Verdict::Go);
        record.open.insert(key(1), OpenObject::new(1, Time::ZERO));
        assert_eq!(judge(&record, &details, SOON), Verdict::Wait);
    }

    #[test]
    fn objects_of_which_nothing_has_been_heard_are_waited_for_and_not_for_ever() {
        let (mut record, details) = waiting(1);
        assert_eq!(judge(&record, &details, SOON), Verdict::Wait);
        assert_eq!(judge(&record, &details, PATIENCE), Verdict::Incomplete);
        record.gone = true;
        assert_eq!(judge(&record, &details, SOON), Verdict::Incomplete);
    }

    #[test]
    fn where_an_object_failed_or_is_another_than_was_sent_the_listing_is_refused() {
        let (mut record, details) = waiting(1);
        record.fail(key(1), None, Reason::Conflict);
        assert_eq!(judge(&record, &details, SOON), Verdict::Incomplete);
        let (mut record, details) = waiting(2);
        record.holdings.insert(ObjectTransportId(1), [7; 32]);
        assert_eq!(judge(&record, &details, SOON), Verdict::Incomplete);
        let (record, mut details) = waiting(2);
        details.follows = None;
        assert_eq!(judge(&record, &details, SOON), Verdict::Incomplete);
    }
}
