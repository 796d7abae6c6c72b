//! Why something was not written.

use std::{fmt, io};

/// Why the disk, or the database on it, refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It ends when somebody makes room.
    Full,
    /// In the words of the system, or of the database.
    Other(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "the disk is full"),
            Self::Other(why) => write!(f, "{why}"),
        }
    }
}

/// Whether there is no room: a quota is a disk of its own.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl From<&io::Error> for Fault {
    fn from(error: &io::Error) -> Self {
        if is_full(error) { Self::Full } else { Self::Other(error.to_string()) }
    }
}

impl From<redb::Error> for Fault {
    fn from(error: redb::Error) -> Self {
        match &error {
            redb::Error::Io(error) => error.into(),
            error => Self::Other(error.to_string()),
        }
    }
}
