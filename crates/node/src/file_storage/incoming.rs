//! One file being received.

use std::{fs::File, io, os::unix::fs::FileExt};

use fanfare_proto::{ObjectKey, StorageError};
use rustix::{fs::FallocateFlags, io::Errno};

use crate::{directory::Directory, name::PART_PREFIX};

/// Consecutive bytes gathered before they are written. Writes below 64 KiB cost a third of the
/// disk's rate; above 256 KiB nothing is gained.
const GATHER_BYTES: usize = 256 << 10;

/// A file under a name of our own, and the bytes that wait to be written to it.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) name: String,
    file: File,
    size: u64,
    gathered: Vec<u8>,
    gathered_at: u64,
}

/// A file that was received whole, not yet under its final name.
#[derive(Debug)]
pub(crate) struct PartFile {
    /// The file, at its start.
    pub(crate) file: File,
    /// Its name in the directory.
    pub(crate) name: String,
    /// The last bytes could not be written.
    pub(crate) failed: Option<StorageError>,
}

impl Incoming {
    /// Creates the file when there is room for `size` bytes, and reserves them where the file
    /// system can, so that a full disk shows now and not after an hour.
    pub(super) fn create(
        directory: &Directory,
        key: ObjectKey,
        size: u64,
    ) -> Result<Self, StorageError> {
        if directory.free() < size {
            return Err(StorageError::Full);
        }
        let name = format!("{PART_PREFIX}{}-{}-{}.part", key.sender, key.instance, key.object);
        let file = directory.create(&name).map_err(|error| super::storage_error(&error))?;
        if let Err(error) = reserve(&file, size) {
            directory.remove(&name);
            return Err(super::storage_error(&error));
        }
        Ok(Self { name, file, size, gathered: Vec::new(), gathered_at: 0 })
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
        let written = self.file.write_all_at(&self.gathered, self.gathered_at);
        self.gathered_at += self.gathered.len() as u64;
        self.gathered.clear();
        written
    }

    pub(super) fn finish(mut self) -> PartFile {
        let failed = self.flush().err().map(|error| super::storage_error(&error));
        PartFile { file: self.file, name: self.name, failed }
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
