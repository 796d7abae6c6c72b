//! By what it shows that somebody has written to a file.

use std::{fs::Metadata, os::unix::fs::MetadataExt};

use fanfare_disk::Mtime;

/// What changes when somebody writes to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) size: u64,
    mtime: (i64, i64),
}

impl Stamp {
    /// Of what is in no file.
    pub(crate) fn none(size: u64) -> Self {
        Self { size, mtime: (0, 0) }
    }

    pub(crate) fn mtime(&self) -> Mtime {
        let (seconds, nanoseconds) = self.mtime;
        Mtime { seconds, nanoseconds: u32::try_from(nanoseconds).unwrap_or(0) }
    }

    pub(crate) fn of(meta: &Metadata) -> Self {
        Self { size: meta.size(), mtime: (meta.mtime(), meta.mtime_nsec()) }
    }
}
