//! Packs on their way to disk: the files of one are written while the disk still syncs others.
//!
//! ```text
//! verifier:  write files of pack 3   | of pack 4   | …
//! here:      sync │ packs 1: held │ pack 2: names │ sync │ pack 2: held │ packs 3, 4: names │ …
//! ```
//! One sync does for all that is waiting: it makes the content of some packs durable and the names
//! of those before them. So a slow disk is asked less often, and a pack costs one sync at most.

use std::{
    collections::BTreeSet,
    io,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use crate::content::{
    pack::{Staged, Staging, Unpacked, stage},
    receipt::Reason,
};
use fanfare_node::Waker;
use fanfare_node::disk::{directory::Directory, placement::Conflict};
use fanfare_proto::ObjectKey;

use super::{Fault, Held, PackJob, Verdict};
use crate::ledger::{self, SharedLedger};

/// Packs written but not yet named: what a sync may take longer than writing one.
const QUEUE: usize = 4;
/// Directories that packs under way will bring, remembered at most.
const PROMISED_MAX: usize = 16_384;

/// A pack whose files are written.
#[derive(Debug)]
struct Waiting {
    key: ObjectKey,
    announced: Vec<u8>,
    hash: [u8; 32],
    size: u64,
    conflict: Conflict,
    staged: Staged,
}

/// A pack whose files have their names, which a failing power may still take.
#[derive(Debug)]
struct Named {
    key: ObjectKey,
    announced: Vec<u8>,
    held: Result<Held, Reason>,
    /// Tells of it after a kill, until the ledger does.
    staging: Option<Staging>,
}

/// Unpacks: writes here, syncs and names in a thread of its own.
#[derive(Debug)]
pub(crate) struct Unpacker {
    directory: Arc<Directory>,
    /// Directories that will be there once the packs before are in their place.
    promised: BTreeSet<Vec<String>>,
    waiting: Option<SyncSender<Waiting>>,
    thread: Option<JoinHandle<()>>,
}

impl Unpacker {
    /// Starts the thread, which sends a verdict for each pack and wakes the driver for it.
    pub(crate) fn start(
        directory: Arc<Directory>,
        ledger: SharedLedger,
        verdicts: Sender<Verdict>,
        waker: Waker,
    ) -> io::Result<Self> {
        let (waiting, queue) = sync_channel(QUEUE);
        let named = Vec::new();
        let waker = Some(waker);
        let placer = Placer { directory: directory.clone(), ledger, named, verdicts, waker };
        let thread = std::thread::Builder::new().name("fanfare-unpack".into());
        let thread = Some(thread.spawn(move || placer.run(&queue))?);
        Ok(Self { directory, promised: BTreeSet::new(), waiting: Some(waiting), thread })
    }

    /// Writes the files of a pack whose hash is right. Its verdict comes later.
    pub(crate) fn unpack(&mut self, job: PackJob) -> Result<(), Reason> {
        let waiting = write(&self.directory, &mut self.promised, job)?;
        let sent = self.waiting.as_ref().is_some_and(|queue| queue.send(waiting).is_ok());
        if sent { Ok(()) } else { Err(Reason::DiskError) }
    }
}

fn write(
    directory: &Arc<Directory>,
    promised: &mut BTreeSet<Vec<String>>,
    job: PackJob,
) -> Result<Waiting, Reason> {
    let PackJob { key, part, announced, hash, size, conflict } = job;
    if promised.len() > PROMISED_MAX {
        // Only a hint: without it files get their names one by one.
        promised.clear();
    }
    let file = part.file.handle();
    let staged = stage(directory, key, file, size, promised)?;
    // Where there is no room for a note, a kill costs the pack.
    let _ = staged.note(file, (hash, size));
    // Before the sync: what is gone need not be written to the disk. It is still open elsewhere,
    // so that its name alone would not do.
    let _ = file.set_len(0);
    directory.remove(&part.name);
    Ok(Waiting { key, announced, hash, size, conflict, staged })
}

impl Drop for Unpacker {
    /// Packs handed over are still finished.
    fn drop(&mut self) {
        self.waiting = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread owns.
#[derive(Debug)]
struct Placer {
    directory: Arc<Directory>,
    ledger: SharedLedger,
    named: Vec<Named>,
    verdicts: Sender<Verdict>,
    waker: Option<Waker>,
}

impl Placer {
    fn run(mut self, queue: &Receiver<Waiting>) {
        loop {
            let first = if self.named.is_empty() { queue.recv().ok() } else { None };
            if first.is_none() && self.named.is_empty() {
                return;
            }
            let batch: Vec<Waiting> =
                first.into_iter().chain(queue.try_iter().take(QUEUE)).collect();
            if !self.settle(batch) {
                return;
            }
        }
    }

    /// One sync, for the names of some and the content of others. False when nobody listens.
    fn settle(&mut self, batch: Vec<Waiting>) -> bool {
        let synced = self.directory.sync_all().map_err(|error| Reason::of_disk(&error));
        for Named { key, announced, held, staging } in self.named.drain(..) {
            let result = synced.and(held).map_err(Fault::Failed);
            if let Some(held) = result.as_ref().ok().filter(|held| held.failures.is_empty()) {
                let what = (&held.hash, &announced[..], held.size);
                ledger::record(&self.ledger, key, what, &held.files);
            }
            drop(staging);
            if self.verdicts.send(Verdict { key, result }).is_err() {
                return false;
            }
            self.waker.iter().for_each(Waker::wake);
        }
        for Waiting { key, announced, hash, size, conflict, staged } in batch {
            let mut staging = None;
            let place = |()| {
                let (Unpacked { files, failures }, left) = staged.place(conflict);
                staging = Some(left);
                Held { hash, size, files, failures }
            };
            let held = synced.map(place);
            self.named.push(Named { key, announced, held, staging });
        }
        true
    }
}

/// The same without a thread, step by step.
#[cfg(test)]
pub(crate) mod inline {
    use super::*;

    /// Packs that are written at once, and synced and named when a test says so.
    #[derive(Debug)]
    pub(crate) struct InlineUnpacker {
        promised: BTreeSet<Vec<String>>,
        waiting: Vec<Waiting>,
        placer: Placer,
        verdicts: Receiver<Verdict>,
    }

    impl InlineUnpacker {
        pub(crate) fn new(directory: Arc<Directory>, ledger: SharedLedger) -> Self {
            let (told, verdicts) = std::sync::mpsc::channel();
            let placer =
                Placer { directory, ledger, named: Vec::new(), verdicts: told, waker: None };
            Self { promised: BTreeSet::new(), waiting: Vec::new(), placer, verdicts }
        }

        /// Writes the files of a pack whose hash is right.
        pub(crate) fn unpack(&mut self, job: PackJob) -> Result<(), Reason> {
            let written = write(&self.placer.directory, &mut self.promised, job)?;
            self.waiting.push(written);
            Ok(())
        }

        /// What has become of a pack. One sync more where nothing has yet.
        pub(crate) fn poll(&mut self) -> Option<Verdict> {
            let known = self.verdicts.try_recv().ok();
            if known.is_some() || (self.waiting.is_empty() && self.placer.named.is_empty()) {
                return known;
            }
            let batch = std::mem::take(&mut self.waiting);
            self.placer.settle(batch);
            self.verdicts.try_recv().ok()
        }

        /// Whether a pack is under way.
        pub(crate) fn is_busy(&self) -> bool {
            !self.waiting.is_empty() || !self.placer.named.is_empty()
        }
    }
}
