//! From a received tree to what came of it.

use std::{
    io::{self, BufReader, Read},
    sync::{Arc, atomic::AtomicBool},
};

use fanfare_node::disk::{Reader, directory::Directory, placement::Conflict};

use super::{TREE_MAX, apply::Applier, entry::Carried};
use crate::content::{
    listing::{Deleted, DirectoryClearing, now},
    receipt::Reason,
    received::Received,
    source,
};

/// What a receiver takes of a tree.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Owners, attributes, ACLs and special bits.
    pub carried: Carried,
    /// Links that lead out of its directory.
    pub outside_links: bool,
    /// What becomes of names that are taken.
    pub conflict: Conflict,
    /// Links and hard links that were announced.
    pub links_max: u64,
    /// Directories that may be made.
    pub directories_max: u64,
    /// Number of names that may go with directories that stand where links are to be. `None`: no directory
    /// gives way.
    pub clears: Option<u64>,
}

/// What came of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    /// Directories that are there.
    pub directories: u64,
    /// Links that are there.
    pub links: u64,
    /// Other names of files that are there.
    pub hard_links: u64,
    /// Entries that have gone with directories that stood where links are now.
    pub deleted: Vec<Deleted>,
    /// Links met, whatever became of them.
    pub(super) met: u64,
    /// What is not as it was at the sender, by name.
    pub failures: Vec<(String, Reason)>,
    /// Why it was not followed at all.
    pub refused: Option<Reason>,
}

impl Restored {
    /// It was not followed.
    pub fn refused(reason: Reason) -> Self {
        Self { refused: Some(reason), ..Self::default() }
    }
}

/// A tree that has come, and what may be done about it.
#[derive(Debug)]
pub struct Restoration {
    /// Where files are received.
    pub directory: Arc<Directory>,
    /// The tree.
    pub part: Received,
    /// Its bytes.
    pub size: u64,
    /// BLAKE3 hash, as announced.
    pub root: [u8; 32],
    /// What is taken of it.
    pub rules: Rules,
}

impl Restoration {
    /// Does it.
    pub fn run(self, stop: &AtomicBool) -> Restored {
        let restored = self.try_run(stop).unwrap_or_else(Restored::refused);
        self.directory.remove(&self.part.name);
        restored
    }

    fn try_run(&self, stop: &AtomicBool) -> Result<Restored, Reason> {
        self.verify()?;
        let input = BufReader::new(Reader::new(self.part.file.handle())).take(self.size);
        let since = now(self.part.file.handle());
        let since = since.map_err(|errno| Reason::of_disk(&errno.into()))?;
        let deleted = Vec::new();
        let clears = self.rules.clears;
        let clearing = clears.map(|max| DirectoryClearing { max, since, stop, deleted });
        let applier = Applier::new(&self.directory, self.rules, clearing);
        let restored = applier.run(input, stop).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Reason::Refused,
            io::ErrorKind::Interrupted => Reason::Aborted,
            _ => Reason::of_disk(&error),
        })?;
        self.directory.sync_all().map_err(|error| Reason::of_disk(&error))?;
        Ok(restored)
    }

    /// Nothing of it is believed before its hash is right.
    fn verify(&self) -> Result<(), Reason> {
        if let Some(error) = self.part.failed {
            return Err(Reason::of_storage(error));
        }
        if self.size > TREE_MAX as u64 {
            return Err(Reason::Refused);
        }
        let mut reader = Reader::new(self.part.file.handle());
        let hashed = source::hash(&mut reader, &mut |_| {});
        let hashed = hashed.map_err(|error| Reason::of_disk(&error))?;
        let is_right = hashed.root == self.root && hashed.size == self.size;
        if is_right { Ok(()) } else { Err(Reason::HashMismatch) }
    }
}
