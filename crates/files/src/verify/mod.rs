//! From a received file to a file one can rely on: hashed, synced, named.
//!
//! - here: what is to be verified, and what comes of it
//! - `lane`: the thread that does it; hashing and syncing take as long as the disk likes
//! - `check`: what is found to be right, or wrong, and where; `base`: of an older version
//! - `place`: what is right gets its name
//!
//! Only what comes out of it as [`Placed`] may be acknowledged.

mod base;
mod check;
mod lane;
mod place;

use std::{io, sync::Arc};

use fanfare_disk::{
    directory::How,
    name::{NameError, SafeName},
    placement::Conflict,
};
use fanfare_proto::{ObjectKey, StorageError};
pub(crate) use lane::Verifier;
pub(crate) use place::{is_in_the_way, unnamed};

use crate::{
    announcement::{Announcement, PackHead},
    file_storage::PartFile,
    manifest::Manifest,
    receipt::Reason,
};

/// A received file and what its sender said of it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: ObjectKey,
    pub(crate) size: u64,
    pub(crate) part: PartFile,
    pub(crate) announcement: Option<Announcement>,
    pub(crate) conflict: Conflict,
    /// By which wrong groups are named.
    pub(crate) manifest: Option<Arc<Manifest>>,
    pub(crate) origin: Origin,
}

impl Job {
    /// The head of a pack, which tells what of it is wrong.
    fn head(&self) -> Option<PackHead> {
        self.announcement.as_ref()?.details.as_ref()?.pack_head()
    }
}

/// Where the content of a part comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From the network, all of it.
    Received,
    /// From an earlier attempt, none of it checked, and more may be written meanwhile: it is only
    /// examined, and gets its name when it has been received.
    Kept,
    /// From the network, unless the file proves to be in its place already: that is examined.
    Elsewhere,
    /// None has come, and none will that is not asked for: a pack, claimed as held, whose files may
    /// be in their place already.
    Claimed,
    /// The head of such a pack has come, and tells which files those are.
    Head,
}

/// Why a file is not in its place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// These bytes (offset, length) are not what was announced; the hash of all that was found, where it
    /// was read.
    Wrong(Vec<(u64, u64)>, Option<[u8; 32]>),
    /// It cannot be had.
    Failed(Reason),
}

/// A file in its final place, on disk for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its name below the directory.
    pub name: SafeName,
    /// Bytes.
    pub size: u64,
    /// BLAKE3 hash of its content.
    pub hash: [u8; 32],
    /// Whether the sender announced that hash; plain NORM senders announce none.
    pub verified: bool,
    /// Whether it is new, replaced another one, stands beside one, or was there.
    pub how: How,
    /// Why the file does not have the name its sender gave.
    pub name_rejected: Option<NameError>,
}

impl Placed {
    /// It was in its place before; nothing was written.
    #[must_use]
    pub fn is_already(&self) -> bool {
        self.how == How::Already
    }

    /// What keeps it from being where its sender meant it to be.
    #[must_use]
    pub fn misplaced(&self) -> Option<Reason> {
        match self.name_rejected {
            Some(_) => Some(Reason::NameRejected),
            None if self.how == How::Beside => Some(Reason::KeptBeside),
            None => None,
        }
    }
}

/// An object on disk: a file, or the files of a pack.
#[derive(Debug)]
pub(crate) struct Held {
    /// BLAKE3 hash of the object.
    pub(crate) hash: [u8; 32],
    /// Its bytes.
    pub(crate) size: u64,
    pub(crate) files: Vec<Placed>,
    /// Files of a pack that are not in their place, by the names they have in it.
    pub(crate) failures: Vec<(String, Reason)>,
}

impl From<Placed> for Held {
    fn from(placed: Placed) -> Self {
        let (hash, size) = (placed.hash, placed.size);
        Self { hash, size, files: vec![placed], failures: Vec::new() }
    }
}

/// A pack whose hash is right.
#[derive(Debug)]
pub(crate) struct PackJob {
    pub(crate) key: ObjectKey,
    pub(crate) part: PartFile,
    /// The name it was announced with: mostly none.
    pub(crate) announced: Vec<u8>,
    pub(crate) hash: [u8; 32],
    pub(crate) size: u64,
    pub(crate) conflict: Conflict,
}

/// Hands a pack to whoever unpacks.
type Unpack<'a> = &'a mut dyn FnMut(PackJob) -> Result<(), Reason>;

/// What became of a [`Job`].
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) key: ObjectKey,
    pub(crate) result: Result<Held, Fault>,
}

/// What the protocol's storage error is to the sender.
pub(crate) fn reason(error: StorageError) -> Reason {
    match error {
        StorageError::Refused => Reason::Refused,
        StorageError::Full => Reason::DiskFull,
        StorageError::Failed => Reason::DiskError,
    }
}

fn disk(error: &io::Error) -> Fault {
    Fault::Failed(disk_reason(error))
}

/// What a disk's error is to the sender.
pub(crate) fn disk_reason(error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Reason::DiskFull,
        _ => Reason::DiskError,
    }
}
