//! What processes see, what is on the platters, what waits between them, and what goes wrong.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use fanfare_proto::rng::Rng;
use fanfare_udp::os::io::Errno;

use super::tree::{Change, ROOT, Tree};
use crate::disk::Metadata;

/// What goes wrong, and what this file system cannot.
#[derive(Debug, Clone)]
pub struct Faults {
    /// Syncs until one fails.
    pub sync: Option<u64>,
    /// Writes until one fails.
    pub write: Option<u64>,
    /// Bytes that all files together may have.
    pub room: u64,
    /// Bytes that can still be written, whoever has the room.
    pub full_after: u64,
    /// Nothing can be changed.
    pub read_only: bool,
    /// It can reserve room for a file.
    pub reserves: bool,
    /// It can rename without replacing.
    pub renames_new: bool,
    /// It says that files are synced, and does nothing.
    pub file_syncs_lie: bool,
    /// It says that directories are synced, and does nothing.
    pub directory_syncs_lie: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            sync: None,
            write: None,
            room: 1 << 40,
            full_after: u64::MAX,
            read_only: false,
            reserves: true,
            renames_new: true,
            file_syncs_lie: false,
            directory_syncs_lie: false,
        }
    }
}

/// A file that a receiver has reported as held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Under which name.
    pub name: String,
    /// BLAKE3 hash of its content.
    pub hash: [u8; 32],
}

/// All that a snapshot holds.
#[derive(Debug, Clone)]
pub struct State {
    /// What processes see.
    pub seen: Tree,
    /// What is on the platters.
    pub disk: Tree,
    waiting: Vec<Change>,
    next_number: u64,
    /// Failed syncs by file.
    failures: BTreeMap<u64, u64>,
    pub(super) locks: BTreeMap<u64, u64>,
    /// When each file was last changed, counted in changes.
    times: BTreeMap<u64, i64>,
    changes: i64,
    /// What goes wrong.
    pub faults: Faults,
    /// What has been told to the world.
    pub reports: Vec<Report>,
    /// Bytes handed to the receiver's store.
    pub received: u64,
    /// Syncs so far.
    pub syncs: u64,
    rng: Rng,
}

impl State {
    /// An empty disk; `seed` decides what a failed sync writes.
    pub fn new(seed: u64) -> Self {
        Self {
            seen: Tree::new(),
            disk: Tree::new(),
            waiting: Vec::new(),
            next_number: ROOT + 1,
            failures: BTreeMap::new(),
            locks: BTreeMap::new(),
            times: BTreeMap::new(),
            changes: 0,
            faults: Faults::default(),
            reports: Vec::new(),
            received: 0,
            syncs: 0,
            rng: Rng::new(seed),
        }
    }

    /// Puts a file there, durable.
    pub fn put(&mut self, name: &str, content: Vec<u8>) {
        let number = self.number();
        for tree in [&mut self.seen, &mut self.disk] {
            tree.files.insert(number, Arc::new(content.clone()));
            tree.apply(&Change::Entries(vec![(ROOT, name.to_owned(), Some(number))]));
        }
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    pub(super) fn check_writable(&self) -> Result<(), Errno> {
        if self.faults.read_only { Err(Errno::ROFS) } else { Ok(()) }
    }

    pub(super) fn free(&self) -> u64 {
        let linked = |(number, _): &(&u64, &Arc<Vec<u8>>)| self.seen.links(**number) > 0;
        let used: usize = self.seen.files.iter().filter(linked).map(|(_, bytes)| bytes.len()).sum();
        self.faults.room.saturating_sub(used as u64)
    }

    pub(super) fn capacity(&self) -> u64 {
        self.faults.room
    }

    pub(super) fn change(&mut self, change: Change) -> Result<(), Errno> {
        self.check_writable()?;
        self.seen.apply(&change);
        self.changes += 1;
        let named = match &change {
            Change::Entries(entries) => entries.last().and_then(|(.., file)| *file),
            other => other.file(),
        };
        self.times.extend(named.map(|file| (file, self.changes)));
        self.waiting.push(change);
        Ok(())
    }

    /// When a file was last changed, its content or its name.
    pub(super) fn time_of(&self, file: u64) -> i64 {
        self.times.get(&file).copied().unwrap_or(0)
    }

    /// What a file or directory is.
    pub(super) fn metadata(&self, number: u64) -> Result<Metadata, Errno> {
        let len = self.seen.files.get(&number).map(|bytes| bytes.len() as u64);
        Ok(Metadata {
            is_file: len.is_some(),
            len: len.unwrap_or(0),
            taken: len.unwrap_or(0),
            mode: None,
            is_linked_twice: self.seen.links(number) > 1,
            number,
            times: [self.time_of(number), 0, 0, 0],
        })
    }

    pub(super) fn create(
        &mut self,
        directory: u64,
        name: &str,
        is_directory: bool,
    ) -> Result<u64, Errno> {
        self.check_writable()?;
        let number = self.number();
        for tree in [&mut self.seen, &mut self.disk] {
            if is_directory {
                tree.directories.insert(number, BTreeMap::new());
            } else {
                tree.files.insert(number, Arc::default());
            }
        }
        self.change(Change::Entries(vec![(directory, name.to_owned(), Some(number))]))?;
        Ok(number)
    }

    fn len(&self, file: u64) -> u64 {
        self.seen.files[&file].len() as u64
    }

    /// Writes what there is room for.
    pub(super) fn write(&mut self, file: u64, bytes: &[u8], at: u64) -> Result<usize, Errno> {
        self.check_writable()?;
        if counts_down(&mut self.faults.write) {
            return Err(Errno::IO);
        }
        let len = self.len(file);
        let room = len.max(at) + self.free();
        let room = room.saturating_sub(at).min(self.faults.full_after);
        let count = (bytes.len() as u64).min(room) as usize;
        self.faults.full_after -= count as u64;
        if count == 0 && !bytes.is_empty() {
            return Err(Errno::NOSPC);
        }
        let end = at + count as u64;
        if end > len {
            self.change(Change::Length { file, len: end })?;
        }
        let bytes = Arc::new(bytes[..count].to_vec());
        self.change(Change::Data { file, at, bytes })?;
        Ok(count)
    }

    pub(super) fn reserve(&mut self, file: u64, len: u64) -> Result<(), Errno> {
        self.check_writable()?;
        if !self.faults.reserves {
            return Err(Errno::OPNOTSUPP);
        }
        let more = len.saturating_sub(self.len(file));
        if more > self.free() {
            return Err(Errno::NOSPC);
        }
        if more > 0 { self.change(Change::Length { file, len }) } else { Ok(()) }
    }

    pub(super) fn sync_failures(&self, file: u64) -> u64 {
        self.failures.get(&file).copied().unwrap_or(0)
    }

    /// A failed sync writes some of it, calls all of it clean, and says so once.
    pub(super) fn sync_file(&mut self, file: u64) -> Result<(), Errno> {
        self.syncs += 1;
        if self.faults.file_syncs_lie {
            return Ok(());
        }
        let failed = counts_down(&mut self.faults.sync);
        if failed {
            *self.failures.entry(file).or_default() += 1;
        }
        let Self { waiting, disk, rng, .. } = self;
        waiting.retain(|change| {
            let concerned = change.file() == Some(file);
            if concerned && (!failed || rng.random_bool(0.5)) {
                disk.apply(change);
            }
            !concerned
        });
        if failed { Err(Errno::IO) } else { Ok(()) }
    }

    /// A failed sync of names stops the file system, as journaling ones do.
    pub(super) fn sync_directory(&mut self, directory: u64) -> Result<(), Errno> {
        self.check_writable()?;
        self.syncs += 1;
        if self.faults.directory_syncs_lie {
            return Ok(());
        }
        if counts_down(&mut self.faults.sync) {
            self.faults.read_only = true;
            return Err(Errno::IO);
        }
        let Self { waiting, disk, .. } = self;
        waiting.retain(|change| {
            let concerned = change.directory() == Some(directory);
            if concerned {
                disk.apply(change);
            }
            !concerned
        });
        Ok(())
    }

    /// A failed sync of everything writes some of all data, calls all of it clean, and says so once.
    pub(super) fn sync_all(&mut self) -> Result<(), Errno> {
        self.check_writable()?;
        self.syncs += 1;
        let failed = counts_down(&mut self.faults.sync);
        let lies = (self.faults.file_syncs_lie, self.faults.directory_syncs_lie);
        let Self { waiting, disk, rng, failures, .. } = self;
        if failed {
            // Who syncs one of them itself hears of it, too.
            let concerned: BTreeSet<u64> = waiting.iter().filter_map(Change::file).collect();
            concerned.into_iter().for_each(|file| *failures.entry(file).or_default() += 1);
        }
        waiting.retain(|change| {
            let is_data = change.file().is_some();
            if (is_data && lies.0) || (!is_data && (lies.1 || failed)) {
                return true;
            }
            if !failed || rng.random_bool(0.5) {
                disk.apply(change);
            }
            false
        });
        if failed { Err(Errno::IO) } else { Ok(()) }
    }

    /// What would survive a crash or not, each on its own.
    pub fn loose_ends(&self, sector: u64) -> usize {
        self.waiting.iter().map(|change| change.pieces(sector).len()).sum()
    }

    /// The power fails, and `survives` decides what of the loose ends is on the disk.
    pub fn crash(&self, sector: u64, mut survives: impl FnMut(usize) -> bool) -> Self {
        let mut disk = self.disk.clone();
        let pieces = self.waiting.iter().flat_map(|change| change.pieces(sector));
        for (_, piece) in pieces.enumerate().filter(|(number, _)| survives(*number)) {
            disk.apply(&piece);
        }
        disk.forget_nameless();
        let after = Self { failures: BTreeMap::new(), waiting: Vec::new(), ..self.kill() };
        Self { seen: disk.clone(), disk, faults: self.faults.after_reboot(), ..after }
    }

    /// All processes are killed; what they have written the system still knows.
    pub fn kill(&self) -> Self {
        Self { locks: BTreeMap::new(), ..self.clone() }
    }
}

impl Faults {
    fn after_reboot(&self) -> Self {
        Self { sync: None, write: None, read_only: false, ..self.clone() }
    }
}

/// Whether it is the one.
fn counts_down(left: &mut Option<u64>) -> bool {
    match left {
        Some(0) => {
            *left = None;
            true
        }
        Some(more) => {
            *more -= 1;
            false
        }
        None => false,
    }
}
