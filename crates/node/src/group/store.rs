//! Messages' bytes while the group's node needs them: others' as they come, and this node's own.

use std::{collections::BTreeMap, fs::File, io, os::unix::fs::FileExt, sync::Arc};

use fanfare_proto::{NodeId, ObjectKey, ObjectKind, Storage, StorageError};

use super::body::{Body, Content, MEMORY_MAX};
use crate::source::unnamed_file;

/// Objects under way at once besides what the cache keeps, in the largest message's size: each may
/// take its whole size before it is whole and can give way.
const UNDER_WAY: u64 = 4;

/// The bytes of all objects.
#[derive(Debug)]
pub(crate) struct MessageStore {
    own: NodeId,
    objects: BTreeMap<ObjectKey, (Content, u64)>,
    bytes: u64,
    bytes_max: u64,
}

impl MessageStore {
    /// Keeps others' messages within `cache` bytes and some of `message_max` that are under way.
    pub(crate) fn new(own: NodeId, cache: u64, message_max: u64) -> Self {
        let bytes_max = cache.saturating_add(message_max.saturating_mul(UNDER_WAY));
        Self { own, objects: BTreeMap::new(), bytes: 0, bytes_max }
    }

    /// A message of this node's own.
    pub(crate) fn put(&mut self, key: ObjectKey, body: &Body) {
        self.objects.insert(key, (body.content.clone(), 0));
    }

    /// What there is of an object.
    pub(crate) fn get(&self, key: ObjectKey) -> Option<&Content> {
        self.objects.get(&key).map(|(content, _)| content)
    }

    /// Nothing needs it any more. Who was given it still has it.
    pub(crate) fn remove(&mut self, key: ObjectKey) {
        if let Some((_, size)) = self.objects.remove(&key) {
            self.bytes -= size;
        }
    }

    fn file_of(&self, key: ObjectKey) -> Result<&Content, StorageError> {
        self.get(key).ok_or(StorageError::Failed)
    }
}

/// No room is another matter than a disk that fails.
fn reason(error: &io::Error) -> StorageError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StorageError::Full,
        _ => StorageError::Failed,
    }
}

impl Storage for MessageStore {
    fn open(&mut self, key: ObjectKey, _kind: ObjectKind, size: u64) -> Result<(), StorageError> {
        self.remove(key);
        if self.bytes.saturating_add(size) > self.bytes_max {
            return Err(StorageError::Full);
        }
        let content = if size <= MEMORY_MAX {
            // Grown on write, not here: a header's promise allocates nothing.
            Content::Memory(Arc::new(Vec::new()))
        } else {
            Content::File(Arc::new(unnamed_file().map_err(|error| reason(&error))?))
        };
        self.objects.insert(key, (content, size));
        self.bytes += size;
        Ok(())
    }

    fn write(&mut self, key: ObjectKey, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let (content, _) = self.objects.get_mut(&key).ok_or(StorageError::Failed)?;
        match content {
            Content::File(file) => file.write_all_at(bytes, offset).map_err(|e| reason(&e)),
            Content::Memory(memory) => {
                let start = usize::try_from(offset).map_err(|_| StorageError::Full)?;
                let end = start.checked_add(bytes.len()).ok_or(StorageError::Full)?;
                let memory = Arc::make_mut(memory);
                memory.resize(memory.len().max(end), 0);
                memory[start..end].copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn read(&mut self, key: ObjectKey, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        match self.file_of(key)? {
            Content::File(file) => read_file(file, offset, into),
            Content::Memory(memory) => {
                let start = usize::try_from(offset).map_err(|_| StorageError::Failed)?;
                let end = start.checked_add(into.len()).ok_or(StorageError::Failed)?;
                into.copy_from_slice(memory.get(start..end).ok_or(StorageError::Failed)?);
                Ok(())
            }
        }
    }

    fn close(&mut self, key: ObjectKey, complete: bool) {
        // Others' whole objects stay until the cache gives them up.
        if !complete || key.sender == self.own {
            self.remove(key);
        }
    }
}

fn read_file(file: &File, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
    file.read_exact_at(into, offset).map_err(|_| StorageError::Failed)
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, ObjectTransportId};

    use super::*;

    fn key(sender: u32, object: u16) -> ObjectKey {
        let object = ObjectTransportId(object);
        ObjectKey { sender: NodeId(sender), instance: InstanceId(1), object }
    }

    #[test]
    fn bytes_are_read_as_they_were_written_in_whatever_order() {
        let mut store = MessageStore::new(NodeId(1), 1 << 20, 1 << 20);
        for size in [1_000_u64, 200_000] {
            let key = key(2, size as u16);
            store.open(key, ObjectKind::Data, size).unwrap();
            store.write(key, 500, &[2; 500]).unwrap();
            store.write(key, 0, &[1; 500]).unwrap();
            store.close(key, true);
            let mut bytes = [0; 1000];
            store.read(key, 0, &mut bytes).unwrap();
            assert!(bytes[..500] == [1; 500] && bytes[500..] == [2; 500]);
            assert_eq!(store.read(key, size - 10, &mut bytes), Err(StorageError::Failed));
        }
    }

    #[test]
    fn objects_beyond_the_bound_are_refused_until_others_have_gone() {
        let mut store = MessageStore::new(NodeId(1), 1000, 1000);
        for object in 0..5 {
            store.open(key(2, object), ObjectKind::Data, 1000).unwrap();
        }
        assert_eq!(store.open(key(2, 5), ObjectKind::Data, 1), Err(StorageError::Full));
        store.close(key(2, 0), false);
        store.open(key(2, 5), ObjectKind::Data, 1).unwrap();
    }

    #[test]
    fn what_an_application_was_given_stays_as_it_was() {
        let mut store = MessageStore::new(NodeId(1), 1000, 1000);
        store.open(key(2, 0), ObjectKind::Data, 4).unwrap();
        store.write(key(2, 0), 0, b"good").unwrap();
        let given = store.get(key(2, 0)).unwrap().clone();
        store.write(key(2, 0), 0, b"evil").unwrap();
        store.remove(key(2, 0));
        assert!(matches!(given, Content::Memory(bytes) if **bytes == *b"good"));
    }
}
