//! From a received file to a file one can rely on: hashed, synced, named.
//!
//! - here: what is to be verified, and what comes of it
//! - `lane`: the thread that does it; hashing and syncing take as long as the disk likes
//! - `check`: what is found to be right, or wrong, and where; `base`: of an older version
//! - `hashing`: a part read, or as much of it as has not been hashed yet
//! - `place`: what is right gets its name; `unpacker`: several packs on their way to disk, and the
//!   syncs they share
//!
//! Only what comes out of it as [`Placed`] may be acknowledged.

mod base;
mod check;
mod hashing;
mod lane;
mod place;
mod unpacker;

use std::{io, sync::Arc};

use crate::content::{
    announcement::{Announcement, PackHead},
    manifest::Manifest,
    placed::Placed,
    receipt::Reason,
};
use fanfare_node::disk::placement::Conflict;
use fanfare_proto::ObjectKey;
pub(crate) use lane::Verifier;

use crate::file_storage::PartFile;

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

fn disk(error: &io::Error) -> Fault {
    Fault::Failed(Reason::of_disk(error))
}
