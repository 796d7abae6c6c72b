//! Long messages of a durable cache, each in a file of its own: a database is no place for them.

use fanfare_udp::os::file::{DirBuilderExt, OpenOptionsExt};
use std::{
    collections::BTreeSet,
    fs::{DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::{database::Kept, fault::Fault, record::Record};
use crate::chance::random;

/// The directory of the files in that of the cache.
const CONTENT: &str = "content";
/// Nobody else reads what others have said to each other.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A directory of files.
#[derive(Debug)]
pub(crate) struct Files {
    directory: PathBuf,
    token: u64,
    count: AtomicU64,
}

impl Files {
    /// Opens that of the cache in `path`; makes both when they are not there.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let directory = path.join(CONTENT);
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(&directory)?;
        Ok(Self { directory, token: random(), count: AtomicU64::new(0) })
    }

    /// A new file, and its name.
    pub(crate) fn create(&self) -> io::Result<(File, String)> {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let name = format!("{:016x}-{count}", self.token);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(FILE_MODE);
        Ok((options.open(self.directory.join(&name))?, name))
    }

    /// One that is there, and has `size` bytes.
    fn has(&self, name: &str, size: u64) -> bool {
        let found = std::fs::symlink_metadata(self.directory.join(name));
        found.is_ok_and(|found| found.is_file() && found.len() == size)
    }

    pub(crate) fn reopen(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.directory.join(name))
    }

    pub(crate) fn remove(&self, name: &str) {
        // Gone already is as good.
        let _ = std::fs::remove_file(self.directory.join(name));
    }

    /// Makes a file durable that a new record names. An error is the last word on it: the system
    /// calls clean what it could not write.
    pub(super) fn sync(&self, name: &str) -> Result<(), Fault> {
        let synced = self.reopen(name).and_then(|file| file.sync_all());
        synced.map_err(|error| Fault::from(&error))
    }

    /// Makes the names of new files durable.
    pub(super) fn sync_names(&self) -> Result<(), Fault> {
        let synced = fanfare_udp::os::fs::sync_directory(&self.directory);
        synced.map_err(|error| Fault::from(&error))
    }

    /// Leaves out records whose files are not there, and removes files that no record names: of
    /// messages that were under way.
    pub(super) fn keep_only(&self, mut kept: Kept) -> io::Result<Checked> {
        let before = kept.records.len();
        let is_there = |record: &Record| match &record.file {
            Some(name) => !name.contains(['/', '.']) && self.has(name, record.size),
            None => record.content.len() as u64 == record.size,
        };
        kept.records.retain(|(_, record)| is_there(record));
        kept.damaged += (before - kept.records.len()) as u64;
        let named: BTreeSet<&str> =
            kept.records.iter().filter_map(|(_, record)| record.file.as_deref()).collect();
        let mut strays = 0;
        for entry in std::fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            if name.to_str().is_some_and(|name| !named.contains(name)) {
                strays += 1;
                let _ = std::fs::remove_file(self.directory.join(name));
            }
        }
        Ok(Checked { kept, strays })
    }
}

/// Records and files that belong together.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) kept: Kept,
    /// Files that no record named.
    pub(super) strays: u64,
}
