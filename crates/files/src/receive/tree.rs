//! Trees that have come: each waits until everything else that its sender sent is settled, and is then
//! acted on by a thread of its own, since a disk takes as long as it likes.

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

use fanfare_node::Waker;
use fanfare_proto::{ObjectKey, Session, Time};

use super::{ReceiveJob, deletion::PATIENCE, record::Record};
use crate::{
    announcement::Details,
    event::{Outbox, ReceiveEvent, TransferEvent},
    file_storage::FileStorage,
    receipt::Reason,
    tree::{Restoration, Restored, Rules},
    verify::Held,
};

/// Trees of all senders.
#[derive(Debug, Default)]
pub(super) struct Trees {
    pub(super) waker: Option<Waker>,
    /// Whole, and waiting for what was sent before them.
    waiting: Vec<ObjectKey>,
    /// One after the other: they may be about the same directories.
    ready: VecDeque<(ObjectKey, Restoration)>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    key: ObjectKey,
    outcome: Receiver<Restored>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(key: ObjectKey, restoration: Restoration, waker: Option<Waker>) -> Option<Self> {
        let (told, outcome) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().name("fanfare-tree".into());
        let thread = thread.spawn(move || {
            // Nobody listens any more when the process ends.
            let _ = told.send(restoration.run(&stopped));
            waker.iter().for_each(Waker::wake);
        });
        Some(Self { key, outcome, stop, thread: Some(thread.ok()?) })
    }
}

impl Drop for Running {
    /// It stops after the name that it is at; what is left is for another time.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is to be done about a tree now.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Wait,
    /// Everything else is here, or will not come.
    Go {
        complete: bool,
    },
}

/// `news`: how long nothing new has come.
fn judge(record: &Record, details: &Details, news: Duration) -> Verdict {
    if record.open.values().any(|object| !object.is_waiting_tree()) {
        return Verdict::Wait;
    }
    let objects = details.follows.map_or(0, |follows| follows.objects);
    let complete = record.holdings.len() >= objects;
    let settled = record.holdings.len() + record.failed_count() >= objects;
    if settled || record.gone || news >= PATIENCE {
        Verdict::Go { complete }
    } else {
        Verdict::Wait
    }
}

impl Trees {
    /// Nothing more is to be done.
    pub(super) fn stop(&mut self) {
        self.ready.clear();
        if let Some(running) = &self.running {
            running.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl ReceiveJob {
    /// A tree is whole.
    pub(super) fn on_tree(&mut self, session: &mut Session, key: ObjectKey) {
        self.trees.waiting.push(key);
        self.update_status(session, key, false);
    }

    /// Acts on trees for which it is time, and takes what came of them.
    pub(super) fn advance_trees(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        for key in std::mem::take(&mut self.trees.waiting) {
            self.settle_tree(now, session, storage, key, out);
        }
        self.take_restored(now, session, storage, out);
        while self.trees.running.is_none()
            && let Some((key, restoration)) = self.trees.ready.pop_front()
        {
            if !self.record_of(key).open.contains_key(&key) {
                continue;
            }
            self.trees.running = Running::start(key, restoration, self.trees.waker.clone());
            if self.trees.running.is_none() {
                self.fail(now, session, storage, key, Reason::DiskError, out);
            }
        }
    }

    fn settle_tree(
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
            Verdict::Wait => self.trees.waiting.push(key),
            Verdict::Go { complete: false } if record.can_spare(turn) => {
                // It comes again in the next round, and perhaps what is lacking before it.
                self.let_go(session, storage, key);
                session.receiver().confirm(key);
            }
            Verdict::Go { .. } => match storage.finished(key) {
                Some(part) => {
                    let rules = self.rules(details.files.unwrap_or(0));
                    let (directory, root) = (self.directory.clone(), details.root);
                    let restoration = Restoration { directory, part, size, root, rules };
                    self.trees.ready.push_back((key, restoration));
                }
                None => self.fail(now, session, storage, key, Reason::DiskError, out),
            },
        }
    }

    fn rules(&self, links_max: u64) -> Rules {
        Rules {
            carried: self.options.carried,
            outside_links: self.options.outside_links,
            conflict: self.options.conflict,
            links_max,
            directories_max: self.options.max_files.unwrap_or(u64::MAX),
        }
    }

    fn take_restored(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        let Some(running) = &self.trees.running else { return };
        let key = running.key;
        let restored = match running.outcome.try_recv() {
            Ok(restored) => restored,
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => Restored::refused(Reason::DiskError),
        };
        self.trees.running = None;
        self.last_news = now;
        // It may have been given up meanwhile, together with its sender.
        let Some(object) = self.record_of(key).open.get(&key) else { return };
        let details = object.announcement.as_ref().and_then(|a| a.details.as_ref());
        let (hash, size) = (details.map_or([0; 32], |details| details.root), object.size);
        if let Some(reason) = restored.refused {
            return self.fail(now, session, storage, key, reason, out);
        }
        let Restored { directories, links, hard_links, failures, .. } = restored;
        let event = ReceiveEvent::Tree { key, directories, links, hard_links };
        out.push(TransferEvent::Receive(event));
        let held = Held { hash, size, files: Vec::new(), failures };
        self.on_held(now, session, storage, key, held, out);
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::{super::record::OpenObject, *};
    use crate::announcement::{Announcement, Follows};

    const SOON: Duration = Duration::ZERO;

    fn key(object: u16) -> ObjectKey {
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(object) }
    }

    /// A tree that follows two objects, of which so many are held.
    fn waiting(held: u16) -> (Record, Details) {
        let follows = Some(Follows { objects: 2, digest: [0; 32] });
        let details = Details::of_tree(100, [9; 32], 0, follows);
        let mut record = Record::default();
        (0..held).for_each(|n| record.holdings.insert(ObjectTransportId(n), [n as u8; 32]));
        let announcement = Announcement { name: Vec::new(), details: Some(details.clone()) };
        let announcement = Some(announcement);
        let tree = OpenObject { verifying: true, announcement, ..OpenObject::new(100, Time::ZERO) };
        record.open.insert(key(2), tree);
        (record, details)
    }

    #[test]
    fn a_tree_is_acted_on_once_everything_before_it_is_held_or_will_not_come() {
        let (mut record, details) = waiting(2);
        assert_eq!(judge(&record, &details, SOON), Verdict::Go { complete: true });
        record.open.insert(key(1), OpenObject::new(1, Time::ZERO));
        assert_eq!(judge(&record, &details, SOON), Verdict::Wait);
        let (mut record, details) = waiting(1);
        assert_eq!(judge(&record, &details, SOON), Verdict::Wait);
        assert_eq!(judge(&record, &details, PATIENCE), Verdict::Go { complete: false });
        record.fail(key(1), None, Reason::DiskFull);
        assert_eq!(judge(&record, &details, SOON), Verdict::Go { complete: false });
    }
}
