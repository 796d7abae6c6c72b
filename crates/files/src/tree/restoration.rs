//! From a received tree to what came of it.

use std::{
    io::{self, BufReader, Read},
    sync::{Arc, atomic::AtomicBool},
};

use fanfare_disk::{Reader, directory::Directory, placement::Conflict};

use super::{TREE_MAX, apply::Applier, entry::Carried};
use crate::{file_storage::PartFile, receipt::Reason, source, verify};

/// What a receiver takes of a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Owners, attributes, ACLs and special bits.
    pub(crate) carried: Carried,
    /// Links that lead out of its directory.
    pub(crate) outside_links: bool,
    pub(crate) conflict: Conflict,
    /// Links and hard links that were announced.
    pub(crate) links_max: u64,
    /// Directories that may be made.
    pub(crate) directories_max: u64,
}

/// What came of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Restored {
    pub(crate) directories: u64,
    pub(crate) links: u64,
    pub(crate) hard_links: u64,
    /// Links met, whatever became of them.
    pub(super) met: u64,
    /// What is not as it was at the sender, by name.
    pub(crate) failures: Vec<(String, Reason)>,
    /// Why it was not followed at all.
    pub(crate) refused: Option<Reason>,
}

impl Restored {
    /// It was not followed.
    pub(crate) fn refused(reason: Reason) -> Self {
        Self { refused: Some(reason), ..Self::default() }
    }
}

/// A tree that has come, and what may be done about it.
#[derive(Debug)]
pub(crate) struct Restoration {
    pub(crate) directory: Arc<Directory>,
    pub(crate) part: PartFile,
    pub(crate) size: u64,
    /// BLAKE3 hash, as announced.
    pub(crate) root: [u8; 32],
    pub(crate) rules: Rules,
}

impl Restoration {
    /// Does it.
    pub(crate) fn run(self, stop: &AtomicBool) -> Restored {
        let restored = self.try_run(stop).unwrap_or_else(Restored::refused);
        self.directory.remove(&self.part.name);
        restored
    }

    fn try_run(&self, stop: &AtomicBool) -> Result<Restored, Reason> {
        self.verify()?;
        let input = BufReader::new(Reader::new(self.part.file.handle())).take(self.size);
        let applier = Applier::new(&self.directory, self.rules);
        let restored = applier.run(input, stop).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Reason::Refused,
            io::ErrorKind::Interrupted => Reason::Aborted,
            _ => verify::disk_reason(&error),
        })?;
        self.directory.sync_all().map_err(|error| verify::disk_reason(&error))?;
        Ok(restored)
    }

    /// Nothing of it is believed before its hash is right.
    fn verify(&self) -> Result<(), Reason> {
        if let Some(error) = self.part.failed {
            return Err(verify::reason(error));
        }
        if self.size > TREE_MAX as u64 {
            return Err(Reason::Refused);
        }
        let mut reader = Reader::new(self.part.file.handle());
        let hashed = source::hash(&mut reader, &mut |_| {});
        let hashed = hashed.map_err(|error| verify::disk_reason(&error))?;
        let is_right = hashed.root == self.root && hashed.size == self.size;
        if is_right { Ok(()) } else { Err(Reason::HashMismatch) }
    }
}
