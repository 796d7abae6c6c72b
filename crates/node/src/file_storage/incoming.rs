//! One file being received.

use std::{fs::File, io, os::unix::fs::FileExt};

use fanfare_proto::{ObjectKey, StorageError};
use rustix::{
    fs::{FallocateFlags, FlockOperation},
    io::Errno,
};

use crate::directory::Directory;

/// Consecutive bytes gathered before they are written. Writes below 64 KiB cost a third of the
/// disk's rate; above 256 KiB nothing is gained.
const GATHER_BYTES: usize = 256 << 10;
/// So much may be lost with the power.
const SYNC_BYTES: u64 = 8 << 20;
/// Runs remembered until it is known whose part it is. Nobody's NORM_INFO takes that long.
const RUNS_MAX: usize = 4096;
/// Copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// A file under a name of our own, and the bytes that wait to be written to it.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) name: String,
    file: File,
    size: u64,
    gathered: Vec<u8>,
    gathered_at: u64,
    /// What has been written (start, end), until it is known whose part it is.
    runs: Option<Vec<(u64, u64)>>,
    unsynced: u64,
    /// Bytes could not be written at the end.
    failed: Option<StorageError>,
}

/// A file that was received whole, not yet under its final name.
#[derive(Debug)]
pub(crate) struct PartFile {
    /// The file; where it is read from next is not said.
    pub(crate) file: File,
    /// Its name in the directory.
    pub(crate) name: String,
    /// The last bytes could not be written.
    pub(crate) failed: Option<StorageError>,
    /// It stays on disk when it proves wrong: there is a manifest to mend it by.
    pub(crate) lasting: bool,
}

impl Incoming {
    /// Creates the file when there is room for `size` bytes, and reserves them where the file
    /// system can, so that a full disk shows now and not after an hour. Not when a part that is
    /// there already may take its place.
    pub(super) fn create(
        directory: &Directory,
        key: ObjectKey,
        size: u64,
        may_be_there: bool,
    ) -> Result<Self, StorageError> {
        if !may_be_there && directory.free() < size {
            return Err(StorageError::Full);
        }
        let name = directory.own_name(key, ".part");
        let file = directory.create(&name).map_err(|error| super::storage_error(&error))?;
        // Tells another receiver in this directory that it is in use; where there are no locks,
        // they had better not share one.
        let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        let incoming = Self::new(name, file, size, Some(Vec::new()));
        if !may_be_there && let Err(error) = incoming.reserve() {
            directory.remove(&incoming.name);
            return Err(error);
        }
        Ok(incoming)
    }

    /// Opens a part that an earlier attempt has left; `WouldBlock` when another receiver is at work
    /// in it.
    pub(super) fn resume(directory: &Directory, name: String, size: u64) -> io::Result<Self> {
        let file = directory.open_own(&name)?;
        let busy = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
            .is_err_and(|errno| errno == Errno::WOULDBLOCK);
        // Before it was locked it may have become a file.
        if busy || !directory.is_named(&file, &name) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if file.metadata()?.len() > size {
            file.set_len(size)?;
        }
        Ok(Self::new(name, file, size, None))
    }

    fn new(name: String, file: File, size: u64, runs: Option<Vec<(u64, u64)>>) -> Self {
        let (gathered, gathered_at) = (Vec::new(), 0);
        Self { name, file, size, gathered, gathered_at, runs, unsynced: 0, failed: None }
    }

    /// Bytes of the whole file.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Reserves the room for all of it.
    pub(super) fn reserve(&self) -> Result<(), StorageError> {
        reserve(&self.file, self.size).map_err(|error| super::storage_error(&error))
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if offset.saturating_add(bytes.len() as u64) > self.size {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let next = self.gathered_at + self.gathered.len() as u64;
        if offset != next || self.gathered.len() + bytes.len() > GATHER_BYTES {
            self.flush()?;
            self.gathered_at = offset;
        }
        self.gathered.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let end = self.gathered_at + self.gathered.len() as u64;
        if offset < end && offset.saturating_add(into.len() as u64) > self.gathered_at {
            self.flush()?;
        }
        self.file.read_exact_at(into, offset)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let (start, len) = (self.gathered_at, self.gathered.len() as u64);
        let written = self.file.write_all_at(&self.gathered, start);
        self.gathered_at += len;
        self.gathered.clear();
        self.unsynced += len;
        self.note(start, start + len);
        written
    }

    fn note(&mut self, start: u64, end: u64) {
        let Some(runs) = &mut self.runs else { return };
        if let Some(last) = runs.last_mut().filter(|last| last.1 == start) {
            last.1 = end;
        } else if runs.len() < RUNS_MAX {
            runs.push((start, end));
        } else {
            self.runs = None;
        }
    }

    /// Whether it is still known what has been written; then it can become part of another.
    pub(super) fn can_move(&self) -> bool {
        self.runs.is_some()
    }

    /// It is known whose part it is: what was written needs no more noting.
    pub(super) fn settle_as(&mut self, name: String) {
        self.name = name;
        self.runs = None;
    }

    /// Copies what has been written to another part of the same file.
    pub(super) fn move_to(&mut self, other: &mut Self) -> io::Result<()> {
        self.flush()?;
        for (start, end) in self.runs.take().unwrap_or_default() {
            let mut at = start;
            while at < end {
                let len = COPY_BYTES.min(end - at);
                let mut bytes = vec![0; len as usize];
                self.file.read_exact_at(&mut bytes, at)?;
                other.file.write_all_at(&bytes, at)?;
                at += len;
            }
            other.unsynced += end - start;
        }
        Ok(())
    }

    /// Whether enough has been written since the last sync to ask for another.
    pub(super) fn wants_sync(&self) -> bool {
        self.unsynced >= SYNC_BYTES
    }

    /// Hands what has been written to `sync`, if there is anything.
    pub(super) fn sync_by(&mut self, sync: impl FnOnce(&File) -> bool) {
        // A failure shows again when the object is written or closed.
        let _ = self.flush();
        if self.unsynced > 0 && sync(&self.file) {
            self.unsynced = 0;
        }
    }

    /// All has been received.
    pub(super) fn close(&mut self) {
        self.failed = self.flush().err().map(|error| super::storage_error(&error));
    }

    /// The file for the verifier.
    pub(super) fn part_file(&self, lasting: bool) -> io::Result<PartFile> {
        let file = self.file.try_clone()?;
        Ok(PartFile { file, name: self.name.clone(), failed: self.failed, lasting })
    }
}

fn reserve(file: &File, size: u64) -> io::Result<()> {
    if size == 0 {
        return Ok(());
    }
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => file.set_len(size),
        other => Ok(other?),
    }
}
