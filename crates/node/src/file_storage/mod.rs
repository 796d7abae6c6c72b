//! Objects in files: [`fanfare_proto::Storage`] on a real disk.
//!
//! - `outgoing`: files being sent, read through a few large windows.
//! - `incoming`: files being received, written in large pieces under names of our own.

mod incoming;
mod outgoing;

use std::{collections::BTreeMap, io, sync::Arc};

use fanfare_proto::{NodeId, ObjectKey, ObjectKind, Storage, StorageError};

use incoming::Incoming;
pub(crate) use incoming::PartFile;
use outgoing::Outgoing;

use crate::directory::Directory;

/// The store of one node.
#[derive(Debug, Default)]
pub(crate) struct FileStorage {
    outgoing: Outgoing,
    incoming: BTreeMap<ObjectKey, Incoming>,
    finished: BTreeMap<ObjectKey, PartFile>,
    directory: Option<Arc<Directory>>,
    only_from: Option<NodeId>,
    /// Keep what was received of objects that are given up.
    keep_partials: bool,
}

impl FileStorage {
    /// A store that receives into `directory`, from one sender only if one is named.
    pub(crate) fn receiving(directory: Arc<Directory>, only_from: Option<NodeId>) -> Self {
        let mut store = Self::default();
        store.directory = Some(directory);
        store.only_from = only_from;
        store
    }

    /// Makes a file readable under `key`.
    pub(crate) fn add_source(&mut self, key: ObjectKey, file: Arc<std::fs::File>) {
        self.outgoing.add(key, file);
    }

    /// A source that could not be read as announced, if there was one since the last call.
    pub(crate) fn take_unreadable(&mut self) -> Option<ObjectKey> {
        self.outgoing.take_failed()
    }

    /// The file of an object that was received whole.
    pub(crate) fn take_finished(&mut self, key: ObjectKey) -> Option<PartFile> {
        self.finished.remove(&key)
    }

    /// From now on, what was received of unfinished objects stays on disk.
    pub(crate) fn keep_partials(&mut self) {
        self.keep_partials = true;
    }

    /// Writes out what has been gathered of unfinished objects.
    pub(crate) fn flush(&mut self) {
        for incoming in self.incoming.values_mut() {
            // A failure shows again when the object is written or closed.
            let _ = incoming.flush();
        }
    }
}

impl Storage for FileStorage {
    fn open(&mut self, key: ObjectKey, _kind: ObjectKind, size: u64) -> Result<(), StorageError> {
        let directory = self.directory.as_ref().ok_or(StorageError::Refused)?;
        if self.only_from.is_some_and(|from| from != key.sender) {
            return Err(StorageError::Refused);
        }
        let incoming = Incoming::create(directory, key, size)?;
        self.incoming.insert(key, incoming);
        Ok(())
    }

    fn write(&mut self, key: ObjectKey, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let incoming = self.incoming.get_mut(&key).ok_or(StorageError::Failed)?;
        incoming.write(offset, bytes).map_err(|error| storage_error(&error))
    }

    fn read(&mut self, key: ObjectKey, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        match self.incoming.get_mut(&key) {
            Some(incoming) => incoming.read(offset, into).map_err(|error| storage_error(&error)),
            None => self.outgoing.read(key, offset, into),
        }
    }

    fn close(&mut self, key: ObjectKey, complete: bool) {
        let Some(incoming) = self.incoming.remove(&key) else {
            return self.outgoing.remove(key);
        };
        let Some(directory) = &self.directory else { return };
        if complete {
            self.finished.insert(key, incoming.finish());
        } else if !self.keep_partials {
            directory.remove(&incoming.name);
        }
    }
}

impl Drop for FileStorage {
    fn drop(&mut self) {
        self.flush();
        let Some(directory) = &self.directory else { return };
        if !self.keep_partials {
            self.incoming.values().for_each(|incoming| directory.remove(&incoming.name));
        }
    }
}

/// What a disk's complaint means to the protocol.
fn storage_error(error: &io::Error) -> StorageError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StorageError::Full,
        _ => StorageError::Failed,
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, ObjectTransportId};

    use super::*;
    use crate::scratch::Scratch;

    fn key(object: u16) -> ObjectKey {
        ObjectKey { sender: NodeId(7), instance: InstanceId(1), object: ObjectTransportId(object) }
    }

    fn store(scratch: &Scratch) -> FileStorage {
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        FileStorage::receiving(directory, None)
    }

    fn entries(scratch: &Scratch) -> usize {
        std::fs::read_dir(scratch.path()).unwrap().count()
    }

    #[test]
    fn an_object_written_in_any_order_is_whole_on_disk_when_closed() {
        let scratch = Scratch::new();
        let mut store = store(&scratch);
        let content: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        store.open(key(1), ObjectKind::File, content.len() as u64).unwrap();
        let mut segments: Vec<(usize, &[u8])> =
            content.chunks(1400).enumerate().map(|(n, bytes)| (n * 1400, bytes)).collect();
        segments.sort_by_key(|(offset, _)| offset % 17);
        for (offset, bytes) in segments {
            store.write(key(1), offset as u64, bytes).unwrap();
        }
        store.close(key(1), true);
        let mut part = store.take_finished(key(1)).unwrap();
        assert!(part.failed.is_none());
        let (root, size) = crate::source::hash(&mut part.file, &mut |_| {}).unwrap();
        assert_eq!((root, size), (*blake3::hash(&content).as_bytes(), 300_000));
    }

    #[test]
    fn bytes_not_yet_on_disk_can_be_read_back() {
        let scratch = Scratch::new();
        let mut store = store(&scratch);
        store.open(key(1), ObjectKind::File, 20).unwrap();
        store.write(key(1), 0, b"0123456789").unwrap();
        let mut back = [0; 4];
        store.read(key(1), 3, &mut back).unwrap();
        assert_eq!(&back, b"3456");
        assert!(store.write(key(1), 15, b"0123456789").is_err(), "beyond the announced size");
    }

    #[test]
    fn an_object_larger_than_the_free_space_is_refused_at_once() {
        let scratch = Scratch::new();
        let mut store = store(&scratch);
        let before = entries(&scratch);
        let opened = store.open(key(1), ObjectKind::File, (1 << 48) - 1);
        assert_eq!(opened, Err(StorageError::Full));
        assert_eq!(entries(&scratch), before);
    }

    #[test]
    fn an_object_given_up_leaves_nothing_unless_partials_are_kept() {
        let scratch = Scratch::new();
        let mut store = store(&scratch);
        store.open(key(1), ObjectKind::File, 10).unwrap();
        store.close(key(1), false);
        assert_eq!(entries(&scratch), 0);
        store.open(key(2), ObjectKind::File, 10).unwrap();
        store.write(key(2), 0, b"kept").unwrap();
        store.keep_partials();
        drop(store);
        assert_eq!(entries(&scratch), 1);
    }

    #[test]
    fn only_the_named_sender_is_heard() {
        let scratch = Scratch::new();
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let mut store = FileStorage::receiving(directory, Some(NodeId(8)));
        assert_eq!(store.open(key(1), ObjectKind::File, 1), Err(StorageError::Refused));
        assert!(store.open(ObjectKey { sender: NodeId(8), ..key(1) }, ObjectKind::File, 1).is_ok());
    }

    #[test]
    fn a_source_is_read_anywhere_and_one_that_shrank_is_reported() {
        let scratch = Scratch::new();
        let path = scratch.path().join("f");
        let content: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 241) as u8).collect();
        std::fs::write(&path, &content).unwrap();
        let mut store = FileStorage::default();
        store.add_source(key(1), Arc::new(std::fs::File::open(&path).unwrap()));
        for offset in [0, 999_000, 262_143, 500_000, 1] {
            let mut bytes = [0; 1000];
            store.read(key(1), offset, &mut bytes).unwrap();
            assert_eq!(bytes, content[offset as usize..][..1000]);
        }
        assert_eq!(store.take_unreadable(), None);
        assert!(store.read(key(1), 999_500, &mut [0; 1000]).is_err());
        assert_eq!(store.take_unreadable(), Some(key(1)));
        store.close(key(1), false);
        assert!(store.read(key(1), 0, &mut [0]).is_err());
    }
}
