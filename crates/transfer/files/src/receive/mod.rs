//! Receiving files: from an announcement to a file on disk that may be acknowledged.
//!
//! - `options`: what is wanted
//! - `objects`: what becomes of each; `examination`: what of it is here already; `mending`: what
//!   proves wrong, `mended`: how often, `blaming`: by whom it came; `outcome`: held, or failed
//! - `senders`: whose objects are taken, and how long that sender may be silent; `binding`: which one
//!   it is; `screening`: of which stream; `impostor`: that it was another host; `permission`: what the policy allows it
//! - `ending`: when it is over, and what it came to
//! - `record`: what is held of one life of a sender; `status`: what senders are told of it;
//!   `reminder`: saying again what is not;
//!   `stream`: pieces of what has no known length, `stream_thread`: who writes them; `layered`: what
//!   comes by layers, `layered_progress`: how far it is
//! - `follow_up`: what waits for everything else; `due`: whether it is time for it. `deletion`: what is here and not at the sender;
//!   `tree`: links, directories and attributes
//!
//! A [`ReceiveJob`] lives in the driver's thread; hashing and syncing are the verifier's.

mod binding;
mod blaming;
mod deletion;
mod displaced;
mod due;
mod ending;
mod examination;
mod follow_up;
mod impostor;
mod layered;
mod layered_progress;
mod mended;
mod mending;
mod objects;
mod options;
mod outcome;
mod permission;
mod record;
mod reminder;
mod screening;
mod senders;
mod status;
mod stream;
mod stream_thread;
mod tree;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use crate::content::receipt::Reason;
use crate::event::Outbox;
use binding::Binding;
use fanfare_node::disk::{directory::Directory, placement::Conflict};
use fanfare_node::{Waker, engine::Wrong};
use fanfare_proto::{Event, InstanceId, NodeId, ObjectKey, Session, Time};
use follow_up::{Deletions, Trees};
pub(crate) use layered_progress::LayeredProgress;
pub use options::{ChainWanted, ReceiveOptions, SenderFilter, Until};
use permission::Permission;
use record::Record;
use reminder::Reminder;
use stream_thread::Streams;

use crate::{
    event::{ReceiveEnd, ReceiveEvent, ReceiveProgress, ReceiveReport, TransferEvent},
    file_storage::FileStorage,
    ledger::{self, SharedLedger},
    verify::{Job, Verifier},
};

/// Progress is told this often.
const PROGRESS: Duration = Duration::from_millis(200);
/// What senders are told of it when they ask is renewed this often.
const TOLD_PROGRESS: Duration = Duration::from_millis(400);
/// So many messages must tell the same of an object for which there is no room, before it is given up.
pub(crate) const REFUSED_AFTER: u8 = 3;
/// Senders whose lives are remembered; the oldest give way.
const RECORDS_MAX: usize = 256;

#[derive(Debug)]
enum Phase {
    Receiving,
    /// Answers what is still asked, until then.
    Lingering(ReceiveEnd, Time),
    Done(ReceiveEnd),
}

/// The receiving side, as a machine driven by the session's events.
#[derive(Debug)]
pub(crate) struct ReceiveJob {
    options: ReceiveOptions,
    directory: Arc<Directory>,
    verifier: Verifier,
    /// Whole files for which the verifier had no room.
    waiting: VecDeque<Job>,
    deletions: Deletions,
    trees: Trees,
    binding: Binding,
    permission: Permission,
    records: BTreeMap<(NodeId, InstanceId), Record>,
    /// For each sender that could not be told otherwise.
    reminders: BTreeMap<(NodeId, InstanceId), Reminder>,
    ledger: SharedLedger,
    streams: Streams,
    /// Beginnings of the roots of which parts are here, for the status.
    parts: Vec<u8>,
    /// Names in the directory, for the status.
    tops: Vec<String>,
    /// Files of which the application has heard, by name and hash.
    told: BTreeSet<[u8; 8]>,
    phase: Phase,
    begun: Time,
    last_news: Time,
    last_heard: Time,
    /// A sender has said that more is to come than it has begun.
    awaits_more: bool,
    next_progress: Time,
    next_told: Time,
    last_progress: Option<ReceiveProgress>,
    /// What proved wrong, for those who know by whom it came.
    wrong: VecDeque<Wrong>,
    report: ReceiveReport,
}

impl ReceiveJob {
    pub(crate) fn start(
        now: Time,
        session: &mut Session,
        directory: Arc<Directory>,
        (verifier, ledger): (Verifier, SharedLedger),
        options: ReceiveOptions,
        parts: Vec<u8>,
    ) -> Self {
        let job = Self {
            permission: Permission::new(options.policy.clone()),
            options,
            directory: directory.clone(),
            verifier,
            waiting: VecDeque::new(),
            deletions: Deletions::default(),
            trees: Trees::default(),
            binding: Binding::default(),
            records: BTreeMap::new(),
            reminders: BTreeMap::new(),
            ledger,
            streams: Streams::default(),
            parts,
            tops: directory.names(),
            told: BTreeSet::new(),
            phase: Phase::Receiving,
            begun: now,
            last_news: now,
            last_heard: now,
            awaits_more: false,
            next_progress: now,
            next_told: now,
            last_progress: None,
            wrong: VecDeque::new(),
            report: ReceiveReport {
                end: ReceiveEnd::Interrupted,
                files: 0,
                bytes: 0,
                deleted: 0,
                refused: 0,
                refused_senders: 0,
                place: None,
                without_mode: 0,
                unnamed: 0,
                failures: Vec::new(),
            },
        };
        if !job.parts.is_empty() || !ledger::lock(&job.ledger).roots().is_empty() {
            session.receiver().ask_info_first();
        }
        job.begin_binding(session);
        job.update_ready(session);
        job
    }

    /// An event of the session.
    pub(crate) fn on_event(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        event: &Event,
        out: &mut Outbox,
    ) {
        match event {
            Event::SenderNew { sender, instance, source } => {
                self.record(*sender, *instance).is_back();
                self.binding.on_sender(*sender, *source);
                let event = ReceiveEvent::Sender { id: *sender, source: *source };
                out.push(TransferEvent::Receive(event));
            }
            Event::SenderReset { sender, instance } => {
                self.record(*sender, *instance).is_back();
            }
            Event::SenderDisowned { sender, instance } => {
                self.on_disowned(session, storage, (*sender, *instance));
            }
            Event::ObjectNew { key, size, has_info, .. } => {
                self.last_news = now;
                self.refresh_parts(session, storage);
                self.on_object(now, session, storage, *key, (*size, *has_info), out);
            }
            Event::ObjectInfo { key, info } => {
                self.on_info(now, session, storage, *key, info, out);
            }
            Event::ObjectCompleted { key, size } => {
                self.last_news = now;
                self.on_completed(now, session, storage, *key, *size, out);
            }
            Event::ObjectAborted { key, reason } => {
                self.on_aborted(now, session, storage, *key, *reason, out);
            }
            Event::SenderRefused { sender, source, invitation } => {
                self.on_refused(session, (*sender, *source), invitation.as_deref(), out);
            }
            Event::SenderEnded { sender } => {
                self.on_gone(*sender, true, out);
                self.screen_again(session, *sender);
            }
            Event::Evicted { sender } => {
                let lives = (*sender, InstanceId(0))..=(*sender, InstanceId(u16::MAX));
                self.records.range_mut(lives).for_each(|(_, record)| record.evicted = true);
                out.push(TransferEvent::Receive(ReceiveEvent::Evicted { id: *sender }));
                self.give_up_evicted(now, session, storage, *sender, out);
            }
            Event::SenderInactive { sender } => {
                self.on_gone(*sender, false, out);
                self.screen_again(session, *sender);
            }
            _ => {}
        }
    }

    /// Treats files that are there already so from now on.
    pub(crate) fn set_conflict(&mut self, conflict: Conflict) {
        self.options.conflict = conflict;
    }

    /// Whose threads are to be woken when one has done something.
    pub(crate) fn wake_by(&mut self, waker: Waker) {
        self.trees.wake_by(waker.clone());
        self.deletions.wake_by(waker);
    }

    fn record(&mut self, sender: NodeId, instance: InstanceId) -> &mut Record {
        let key = (sender, instance);
        if self.records.len() >= RECORDS_MAX && !self.records.contains_key(&key) {
            // First those of which nothing has come.
            let settled = self.records.iter().filter(|(_, record)| record.is_settled());
            let first = settled.min_by_key(|(_, record)| record.has_anything());
            if let Some(first) = first.map(|(key, _)| *key) {
                self.records.remove(&first);
            }
        }
        self.records.entry(key).or_default()
    }

    fn record_of(&mut self, key: ObjectKey) -> &mut Record {
        self.record(key.sender, key.instance)
    }

    fn on_gone(&mut self, sender: NodeId, said: bool, out: &mut Outbox) {
        if said {
            self.on_stream_gone(sender, out);
        }
        for (_, record) in
            self.records.range_mut((sender, InstanceId(0))..=(sender, InstanceId(u16::MAX)))
        {
            (record.gone, record.left) = (true, said || record.left);
        }
        self.tops = self.directory.names();
        out.push(TransferEvent::Receive(ReceiveEvent::SenderGone { id: sender, said }));
    }

    /// A sender that goes on without us will answer no request: what is open will not be had from
    /// it. What there is of it stays for another attempt.
    fn give_up_evicted(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        sender: NodeId,
        out: &mut Outbox,
    ) {
        let lives = (sender, InstanceId(0))..=(sender, InstanceId(u16::MAX));
        let mut open: Vec<ObjectKey> = Vec::new();
        for (_, record) in self.records.range_mut(lives).filter(|(_, record)| record.evicted) {
            record.gone = true;
            open.extend(record.open.keys());
        }
        for key in open {
            session.receiver().cancel(key, storage);
            self.fail(now, session, storage, key, Reason::Aborted, out);
        }
    }

    /// Once the last object is settled and some failed, no acknowledgement will say so.
    fn remind(&mut self, now: Time, session: &mut Session, key: ObjectKey) {
        let record = self.record_of(key);
        if record.is_settled() && record.has_failed() {
            self.update_status(session, key, true);
            self.reminders.insert((key.sender, key.instance), Reminder::new(now, key));
        }
    }

    fn repeat_reminders(&mut self, now: Time, session: &mut Session) {
        let due = |reminder: &&Reminder| reminder.at <= now;
        let due: Vec<Reminder> = self.reminders.values().filter(due).copied().collect();
        for reminder in due {
            let about = reminder.about;
            let gone = self.record_of(about).gone;
            match reminder.again(now).filter(|_| !gone) {
                Some(again) => {
                    self.reminders.insert((about.sender, about.instance), again);
                    self.update_status(session, about, true);
                }
                None => drop(self.reminders.remove(&(about.sender, about.instance))),
            }
        }
    }

    /// Datagrams have arrived.
    pub(crate) fn on_heard(&mut self, now: Time) {
        self.last_heard = now;
    }

    /// Time has passed, or something has happened.
    pub(crate) fn on_timeout(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        storage.sync(now);
        self.repeat_reminders(now, session);
        self.stop_awaiting(now, session, storage, out);
        self.advance_deletions(now, session, storage, out);
        self.advance_trees(now, session, storage, out);
        if now >= self.next_progress {
            self.next_progress = now + PROGRESS;
            let progress = self.progress(session);
            self.renew_status(now, session);
            if self.last_progress != Some(progress) {
                self.last_progress = Some(progress);
                out.push(TransferEvent::Receive(ReceiveEvent::Progress(progress)));
            }
            self.tell_levels(out);
        }
        match self.phase {
            Phase::Receiving => self.check_end(now, session, storage),
            Phase::Lingering(end, until) if now >= until || self.has_senders_gone() => {
                self.phase = Phase::Done(end);
            }
            Phase::Lingering(..) | Phase::Done(_) => {}
        }
    }

    fn progress(&self, session: &mut Session) -> ReceiveProgress {
        let receiver = session.receiver();
        let (mut bytes, mut total_bytes, mut loss) = (0, 0, 0.0_f64);
        for ((sender, instance), record) in &self.records {
            if self.is_shadow(*sender, *instance) {
                continue;
            }
            bytes += record.settled_bytes;
            total_bytes += record.settled_bytes;
            for (key, object) in &record.open {
                bytes += Record::bytes_of(object, receiver.progress(*key));
                total_bytes += object.size;
                loss = loss.max(object.layered.map_or(0.0, |layered| layered.loss));
            }
            loss = loss.max(receiver.loss(*sender).unwrap_or(0.0));
        }
        ReceiveProgress { bytes, total_bytes, loss }
    }

    /// Objects held, of all senders, manifests among them.
    #[cfg(test)]
    pub(crate) fn objects_held(&self) -> u64 {
        self.records.values().map(|record| record.holdings.len()).sum()
    }
}
