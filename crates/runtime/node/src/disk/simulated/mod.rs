//! A disk in memory that loses power between any two calls.
//!
//! What processes see and what is on the platters are two trees; between them wait the changes that
//! nobody has synced. A crash keeps any of those, and throws the others away:
//!
//! - data by sectors of 512 bytes or 4 KiB, and apart from the file's length
//! - names apart from content; a rename as a whole, but not before later changes elsewhere
//! - times of change survive whatever else does: a ledger that is believed by them must not be
//!   written too early
//! - a synced file has its content and its length, a synced directory its names, and no more
//!
//! Weaker than Linux's journaling file systems, which keep the order of names: what holds here holds
//! there. A failed sync is as bad as on Linux: pages are called clean and are not written.
//!
//! - `tree`: names and contents; `state`: both trees, what waits, and what goes wrong
//! - here: the handles

mod state;
mod tree;

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};

use fanfare_udp::os::{fs::Mode, io::Errno};
pub use state::{Faults, Report, State};
use tree::{Change, ROOT};

use super::{DirectoryHandle, DirectoryId, FileHandle, Metadata, Mtime, Open};

/// The disk, shared by all handles.
#[derive(Debug, Clone)]
pub struct SimFs(Arc<Mutex<Shared>>);

#[derive(Debug)]
struct Shared {
    state: State,
    recording: Option<Recording>,
    openings: u64,
}

/// The state before every so many steps: calls that change or sync something.
#[derive(Debug)]
struct Recording {
    every: usize,
    steps: usize,
    snapshots: Vec<State>,
}

impl SimFs {
    /// A disk as a crash has left it, or a new one.
    pub fn new(state: State) -> Self {
        Self(Arc::new(Mutex::new(Shared { state, recording: None, openings: 0 })))
    }

    /// The directory that everything is in.
    pub fn root(&self) -> Box<dyn DirectoryHandle> {
        self.entering(ROOT)
    }

    fn entering(&self, number: u64) -> Box<dyn DirectoryHandle> {
        let mut shared = self.lock();
        shared.openings += 1;
        let opening = shared.openings;
        drop(shared);
        Box::new(SimDirectory { fs: self.clone(), number, opening })
    }

    fn lock_for(&self, number: u64, opening: u64) -> Result<(), Errno> {
        self.with(|state| match state.locks.get(&number) {
            Some(other) if *other != opening => Err(Errno::WOULDBLOCK),
            _ => {
                state.locks.insert(number, opening);
                Ok(())
            }
        })
    }

    fn unlock_for(&self, number: u64, opening: u64) {
        self.with(|state| {
            if state.locks.get(&number) == Some(&opening) {
                state.locks.remove(&number);
            }
        });
    }

    /// From now on, keeps the state before every so many steps.
    pub fn record(&self, every: usize) {
        self.lock().recording = Some(Recording { every, steps: 0, snapshots: Vec::new() });
    }

    /// The states kept so far, and the present one.
    pub fn take_snapshots(&self) -> Vec<State> {
        let mut shared = self.lock();
        let mut snapshots = shared.recording.take().map_or_else(Vec::new, |r| r.snapshots);
        snapshots.push(shared.state.clone());
        snapshots
    }

    /// The state now.
    pub fn state(&self) -> State {
        self.lock().state.clone()
    }

    /// Changes what goes wrong, or what has been told.
    pub fn with<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        change(&mut self.lock().state)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap()
    }

    /// A step that a crash may come before.
    fn step<R>(&self, step: impl FnOnce(&mut State) -> Result<R, Errno>) -> Result<R, Errno> {
        let shared = &mut *self.lock();
        if let Some(recording) = &mut shared.recording {
            if recording.steps.is_multiple_of(recording.every) {
                recording.snapshots.push(shared.state.clone());
            }
            recording.steps += 1;
        }
        step(&mut shared.state)
    }

    fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&self.lock().state)
    }

    fn opening(&self, number: u64, appends: bool) -> Arc<dyn FileHandle> {
        let mut shared = self.lock();
        shared.openings += 1;
        let opening = shared.openings;
        // Failures before it was opened are nobody's news any more.
        let heard = AtomicU64::new(shared.state.sync_failures(number));
        drop(shared);
        Arc::new(SimFile { fs: self.clone(), number, opening, appends, heard })
    }
}

#[derive(Debug)]
struct SimDirectory {
    fs: SimFs,
    number: u64,
    opening: u64,
}

fn number(directory: &dyn DirectoryHandle) -> Result<u64, Errno> {
    match directory.id() {
        DirectoryId::Number(number) => Ok(number),
        DirectoryId::Descriptor(_) => Err(Errno::XDEV),
    }
}

impl SimDirectory {
    fn child(&self, name: &str) -> Option<u64> {
        self.fs.look(|state| state.seen.child(self.number, name))
    }

    fn is_directory(&self, number: u64) -> bool {
        self.fs.look(|state| state.seen.directories.contains_key(&number))
    }

    fn take_away(&self, name: &str) -> Result<(), Errno> {
        let entries = vec![(self.number, name.to_owned(), None)];
        self.fs.step(|state| state.change(Change::Entries(entries)))
    }
}

impl Drop for SimDirectory {
    fn drop(&mut self) {
        self.fs.unlock_for(self.number, self.opening);
    }
}

impl DirectoryHandle for SimDirectory {
    fn id(&self) -> DirectoryId<'_> {
        DirectoryId::Number(self.number)
    }

    fn open(&self, name: &str, how: Open) -> Result<Arc<dyn FileHandle>, Errno> {
        let found = self.child(name);
        let number = match (found, how) {
            (Some(_), Open::Create | Open::CreateAs(_)) => return Err(Errno::EXIST),
            (None, Open::Create | Open::CreateAs(_) | Open::Append) => {
                self.fs.step(|state| state.create(self.number, name, false))?
            }
            (Some(number), _) => number,
            (None, _) => return Err(Errno::NOENT),
        };
        if self.fs.look(|state| state.seen.files.contains_key(&number)) {
            Ok(self.fs.opening(number, how == Open::Append))
        } else {
            Err(Errno::ISDIR)
        }
    }

    fn enter(&self, name: &str) -> Result<Box<dyn DirectoryHandle>, Errno> {
        let number = self.child(name).ok_or(Errno::NOENT)?;
        if !self.is_directory(number) {
            return Err(Errno::NOTDIR);
        }
        Ok(self.fs.entering(number))
    }

    fn make_directory(&self, name: &str) -> Result<(), Errno> {
        if self.child(name).is_some() {
            return Err(Errno::EXIST);
        }
        self.fs.step(|state| state.create(self.number, name, true)).map(drop)
    }

    fn make_own_directory(&self, name: &str) -> Result<(), Errno> {
        self.make_directory(name)
    }

    fn remove_directory(&self, name: &str) -> Result<(), Errno> {
        let number = self.child(name).ok_or(Errno::NOENT)?;
        match self.fs.look(|state| state.seen.directories.get(&number).map(|d| d.is_empty())) {
            None => Err(Errno::NOTDIR),
            Some(false) => Err(Errno::NOTEMPTY),
            Some(true) => self.take_away(name),
        }
    }

    fn lock(&self) -> Result<(), Errno> {
        self.fs.lock_for(self.number, self.opening)
    }

    fn rename(&self, from: &str, to: &dyn DirectoryHandle, name: &str) -> Result<(), Errno> {
        let file = self.child(from).ok_or(Errno::NOENT)?;
        let to = number(to)?;
        let there = self.fs.look(|state| state.seen.child(to, name));
        if there.is_some_and(|there| self.is_directory(there)) {
            return Err(Errno::ISDIR);
        }
        if there == Some(file) {
            // Two names of one file: POSIX does nothing.
            return Ok(());
        }
        let gone = (self.number, from.to_owned(), None);
        let entries = vec![gone, (to, name.to_owned(), Some(file))];
        self.fs.step(|state| state.change(Change::Entries(entries)))
    }

    fn rename_new(&self, from: &str, to: &dyn DirectoryHandle, name: &str) -> Result<(), Errno> {
        if !self.fs.look(|state| state.faults.renames_new) {
            return Err(Errno::INVAL);
        }
        self.child(from).ok_or(Errno::NOENT)?;
        let target = number(to)?;
        if self.fs.look(|state| state.seen.child(target, name)).is_some() {
            return Err(Errno::EXIST);
        }
        self.rename(from, to, name)
    }

    fn link(&self, from: &str, to: &dyn DirectoryHandle, name: &str) -> Result<(), Errno> {
        let file = self.child(from).ok_or(Errno::NOENT)?;
        let to = number(to)?;
        if self.fs.look(|state| state.seen.child(to, name)).is_some() {
            return Err(Errno::EXIST);
        }
        let entries = vec![(to, name.to_owned(), Some(file))];
        self.fs.step(|state| state.change(Change::Entries(entries)))
    }

    fn unlink(&self, name: &str) -> Result<(), Errno> {
        let number = self.child(name).ok_or(Errno::NOENT)?;
        if self.is_directory(number) { Err(Errno::ISDIR) } else { self.take_away(name) }
    }

    fn list(&self) -> Result<Vec<String>, Errno> {
        Ok(self.fs.look(|state| state.seen.directories[&self.number].keys().cloned().collect()))
    }

    fn metadata_of(&self, name: &str) -> Result<Metadata, Errno> {
        let number = self.child(name).ok_or(Errno::NOENT)?;
        self.fs.look(|state| state.metadata(number))
    }

    fn free(&self) -> u64 {
        self.fs.look(State::free)
    }

    fn capacity(&self) -> u64 {
        self.fs.look(State::capacity)
    }

    fn sync(&self) -> Result<(), Errno> {
        self.fs.step(|state| state.sync_directory(self.number))
    }

    fn sync_all(&self) -> Result<(), Errno> {
        self.fs.step(State::sync_all)
    }
}

#[derive(Debug)]
struct SimFile {
    fs: SimFs,
    number: u64,
    opening: u64,
    /// Writes go to its end.
    appends: bool,
    /// Failed syncs of this file that this opening knows of.
    heard: AtomicU64,
}

impl SimFile {
    fn sync_or_tell(&self) -> Result<(), Errno> {
        let synced = self.fs.step(|state| state.sync_file(self.number));
        let failures = self.fs.look(|state| state.sync_failures(self.number));
        // Each opening is told of a failure, once.
        if self.heard.swap(failures, Ordering::Relaxed) < failures {
            Err(Errno::IO)
        } else {
            synced
        }
    }
}

impl FileHandle for SimFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.fs.look(|state| {
            let bytes = &state.seen.files[&self.number];
            let rest = bytes.get(offset as usize..).unwrap_or_default();
            let count = rest.len().min(into.len());
            into[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        self.fs.step(|state| {
            let end = state.seen.files[&self.number].len() as u64;
            state.write(self.number, bytes, if self.appends { end } else { offset })
        })
    }

    fn set_len(&self, len: u64) -> Result<(), Errno> {
        self.fs.step(|state| state.change(Change::Length { file: self.number, len }))
    }

    fn reserve(&self, len: u64) -> Result<(), Errno> {
        self.fs.step(|state| state.reserve(self.number, len))
    }

    fn punch(&self, _offset: u64, _len: u64) -> Result<(), Errno> {
        Err(Errno::OPNOTSUPP)
    }

    fn hole_at(&self, _offset: u64) -> u64 {
        0
    }

    fn sync(&self) -> Result<(), Errno> {
        self.sync_or_tell()
    }

    fn sync_data(&self) -> Result<(), Errno> {
        self.sync_or_tell()
    }

    fn metadata(&self) -> Result<Metadata, Errno> {
        self.fs.look(|state| state.metadata(self.number))
    }

    fn lock(&self) -> Result<(), Errno> {
        self.fs.lock_for(self.number, self.opening)
    }

    fn set_properties(&self, _mode: Mode, _mtime: Option<Mtime>) -> Result<bool, Errno> {
        // Permissions and times of a file are promised to nobody.
        self.fs.look(State::check_writable).map(|()| true)
    }

    fn set_mtime(&self, _mtime: Mtime) {}
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.fs.unlock_for(self.number, self.opening);
    }
}

#[cfg(test)]
mod tests;
