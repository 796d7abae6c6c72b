//! By what it shows that somebody has written to a file.

use fanfare_udp::os::file::{FileExt, MetadataExt};
use std::{
    fs::{File, Metadata},
    io,
    path::Path,
};

use fanfare_node::disk::Mtime;

use crate::content::{reach, read_at::ReadAt};

/// What changes when somebody writes to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    mtime: (i64, i64),
}

impl Stamp {
    /// Of what is in no file.
    #[must_use]
    pub fn none(size: u64) -> Self {
        Self { size, mtime: (0, 0) }
    }

    /// When its content was changed.
    #[must_use]
    pub fn mtime(&self) -> Mtime {
        let (seconds, nanoseconds) = self.mtime;
        Mtime { seconds, nanoseconds: u32::try_from(nanoseconds).unwrap_or(0) }
    }

    /// Of a file with these properties.
    #[must_use]
    pub fn of(meta: &Metadata) -> Self {
        Self { size: meta.size(), mtime: (meta.mtime(), meta.mtime_nsec()) }
    }

    /// Of the file at a path, if one is there.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        reach::metadata(path).ok().map(|meta| Self::of(&meta))
    }
}

/// A file that is read only while it is what was hashed.
///
/// Without this, a sender answers repair requests with bytes of the changed file, and its receivers
/// ask again and again for a file that they can never verify.
#[derive(Debug)]
pub(crate) struct Stamped {
    file: File,
    /// What it was when it was hashed.
    stamp: Stamp,
}

impl Stamped {
    /// The file at a path; reading it tells whether it still is what had this stamp.
    pub(crate) fn open(path: &Path, stamp: Stamp) -> io::Result<Self> {
        Ok(Self { file: reach::open(path)?, stamp })
    }

    /// Fills `into` with what is at `offset`.
    pub(crate) fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(into, offset)?;
        self.check()
    }

    /// An error when somebody has written to the file since it was hashed.
    pub(super) fn check(&self) -> io::Result<()> {
        let is_same = Stamp::of(&self.file.metadata()?) == self.stamp;
        is_same.then_some(()).ok_or(io::ErrorKind::InvalidData.into())
    }
}

impl ReadAt for Stamped {
    /// Checks after reading: a write in between has left its trace then.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = FileExt::read_at(&self.file, into, offset)?;
        self.check().map(|()| count)
    }
}

#[cfg(test)]
mod tests {
    use fanfare_node::disk::scratch::Scratch;

    use super::*;

    #[test]
    fn a_file_that_is_written_to_while_it_is_open_is_no_longer_read() {
        let scratch = Scratch::new();
        let path = scratch.path().join("f");
        std::fs::write(&path, [1; 100]).unwrap();
        let file = Stamped::open(&path, Stamp::at(&path).unwrap()).unwrap();
        assert_eq!(file.read_at(&mut [0; 10], 20).unwrap(), 10);
        std::fs::write(&path, [2; 101]).unwrap();
        assert_eq!(file.read_at(&mut [0; 10], 20).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_file_that_is_removed_while_it_is_open_is_read_to_its_end() {
        let scratch = Scratch::new();
        let path = scratch.path().join("f");
        std::fs::write(&path, [1; 100]).unwrap();
        let file = Stamped::open(&path, Stamp::at(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.read_at(&mut [0; 100], 20).unwrap(), 80);
    }
}
