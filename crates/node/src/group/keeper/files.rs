//! Long messages of a durable cache, each in a file of its own: a database is no place for them.

use std::{
    collections::BTreeSet,
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    database::{Change, Kept, Why},
    record::Record,
};
use crate::builder::random;

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

    /// Makes the files durable that new records name.
    pub(super) fn sync<'a>(&self, changes: impl Iterator<Item = &'a Change>) -> Result<(), Why> {
        let records = changes.filter_map(|change| match change {
            Change::Put(_, record) | Change::PutOwn(_, record, _) => Some(record),
            Change::Remove(_) => None,
        });
        let mut any = false;
        for name in records.filter_map(|record| record.file.as_ref()) {
            let synced = self.reopen(name).and_then(|file| file.sync_all());
            synced.map_err(|error| error.to_string())?;
            any = true;
        }
        if any {
            let directory = File::open(&self.directory).and_then(|directory| directory.sync_all());
            directory.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Leaves out records whose files are not there, and removes files that no record names: of
    /// messages that were under way.
    pub(crate) fn keep_only(&self, mut kept: Kept) -> io::Result<Kept> {
        let before = kept.records.len();
        let is_there = |record: &Record| match &record.file {
            Some(name) => !name.contains(['/', '.']) && self.has(name, record.size),
            None => record.content.len() as u64 == record.size,
        };
        kept.records.retain(|(_, record)| is_there(record));
        kept.damaged += (before - kept.records.len()) as u64;
        let named: BTreeSet<&str> =
            kept.records.iter().filter_map(|(_, record)| record.file.as_deref()).collect();
        for entry in std::fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            if name.to_str().is_some_and(|name| !named.contains(name)) {
                let _ = std::fs::remove_file(self.directory.join(name));
            }
        }
        Ok(kept)
    }
}
