//! By what it shows that somebody has written to a file.

use std::{fs::Metadata, os::unix::fs::MetadataExt, path::Path};

use fanfare_disk::Mtime;

use crate::reach;

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
