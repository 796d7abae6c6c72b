//! Messages' bytes while the group's node needs them: others' as they come, and this node's own.

use fanfare_udp::os::file::FileExt;
use std::{collections::BTreeMap, fs::File, io, sync::Arc};

use crate::disk::unnamed_file;
use fanfare_messaging::ContentHash;
use fanfare_proto::{NodeId, ObjectKey, ObjectKind, Storage, StorageError};

use super::{
    body::{Content, MEMORY_MAX},
    event::GroupEvent,
    keeper::{Damage, Files, Keeper, News, Record, is_full, now},
};

/// Objects under way at once besides what the cache keeps, in the largest message's size: each may
/// take its whole size before it is whole and can give way.
const UNDER_WAY: u64 = 4;
/// Bytes of long messages in memory, where the disk has no room for their files: as much as a cache
/// holds by default.
const RESERVE: u64 = 64 << 20;

#[derive(Debug)]
struct Stored {
    content: Content,
    /// What it counts for among others' objects.
    counted: u64,
    /// Of its file in the durable cache.
    file: Option<String>,
    /// It is long, and in memory.
    is_spare: bool,
    /// It was whole in an earlier life.
    is_left: bool,
}

impl Stored {
    fn new(content: Content, counted: u64, file: Option<String>) -> Self {
        Self { content, counted, file, is_spare: false, is_left: false }
    }
}

/// A durable cache behind the store.
#[derive(Debug)]
pub(crate) struct Durable {
    pub(crate) keeper: Keeper,
    pub(crate) files: Arc<Files>,
}

/// The bytes of all objects.
#[derive(Debug)]
pub(crate) struct MessageStore {
    own: NodeId,
    objects: BTreeMap<ObjectKey, Stored>,
    bytes: u64,
    bytes_max: u64,
    /// Of the reserve.
    spare: u64,
    durable: Option<Durable>,
    /// Found and not told yet.
    damage: Damage,
    /// What an earlier life has left of the object that is opened next.
    left: Option<(ObjectKey, Content, Option<String>)>,
}

impl MessageStore {
    /// Keeps others' messages within `cache` bytes and some of `message_max` that are under way.
    pub(crate) fn new(own: NodeId, cache: u64, message_max: u64, durable: Option<Durable>) -> Self {
        let bytes_max = cache.saturating_add(message_max.saturating_mul(UNDER_WAY));
        let (objects, damage) = (BTreeMap::new(), Damage::default());
        Self { own, objects, bytes: 0, bytes_max, spare: RESERVE, durable, damage, left: None }
    }

    /// A message of this node's own; `file`: where its bytes are in the durable cache.
    pub(crate) fn put(&mut self, key: ObjectKey, content: Content, file: Option<String>) {
        self.objects.insert(key, Stored::new(content, 0, file));
    }

    /// The object that is opened next was whole in an earlier life, and this is it.
    pub(crate) fn expect(&mut self, key: ObjectKey, content: Content, file: Option<String>) {
        self.left = Some((key, content, file));
    }

    /// What there is of an object.
    pub(crate) fn get(&self, key: ObjectKey) -> Option<&Content> {
        self.objects.get(&key).map(|stored| &stored.content)
    }

    /// Nothing needs it any more. Who was given it still has it.
    pub(crate) fn remove(&mut self, key: ObjectKey) {
        let stored = self.forget(key);
        if let Some(durable) = &mut self.durable {
            durable.keeper.remove(key, stored.and_then(|stored| stored.file));
        }
    }

    fn forget(&mut self, key: ObjectKey) -> Option<Stored> {
        let stored = self.objects.remove(&key)?;
        self.bytes -= stored.counted;
        if stored.is_spare {
            self.spare += stored.counted;
        }
        Some(stored)
    }

    /// Whether messages are to outlive the process.
    pub(crate) fn is_durable(&self) -> bool {
        self.durable.is_some()
    }

    fn record(
        &self,
        key: ObjectKey,
        (size, hash): (u64, ContentHash),
        description: Vec<u8>,
    ) -> Record {
        let own = key.sender == self.own;
        let stored = self.objects.get(&key);
        let file = stored.and_then(|stored| stored.file.clone());
        let content = match stored.map(|stored| &stored.content) {
            Some(Content::Memory(bytes)) if file.is_none() => bytes.to_vec(),
            _ => Vec::new(),
        };
        Record { heard: now(), own, size, hash: hash.to_vec(), description, content, file }
    }

    /// Another's message is whole, and is to outlive the process.
    pub(crate) fn keep(&mut self, key: ObjectKey, about: (u64, ContentHash), passage: Vec<u8>) {
        let record = self.record(key, about, passage);
        if let Some(durable) = &mut self.durable {
            durable.keeper.put(key, record);
        }
    }

    /// An own message is to outlive the process: it does, when this comes back well. `number`: its
    /// topic, and that topic's next number.
    pub(crate) fn keep_own(
        &mut self,
        key: ObjectKey,
        about: (u64, ContentHash),
        description: Vec<u8>,
        number: (String, u64),
    ) -> Result<(), String> {
        let record = self.record(key, about, description);
        let Some(durable) = &mut self.durable else { return Ok(()) };
        durable.keeper.put_own(key, record, number).map_err(|fault| fault.to_string())
    }

    /// What the application should know of the durable cache.
    pub(crate) fn poll_news(&mut self) -> Option<GroupEvent> {
        if self.damage != Damage::default() {
            return Some(GroupEvent::Damaged(std::mem::take(&mut self.damage)));
        }
        Some(match self.durable.as_mut()?.keeper.news()? {
            News::NotDurable(why) => GroupEvent::NotDurable { why },
            News::Durable { unkept } => GroupEvent::Durable { unkept },
        })
    }

    /// The bytes of an object have not the hash that its publisher announced.
    pub(crate) fn on_wrong(&mut self, key: ObjectKey) {
        // What came wrongly is of no concern to anybody: it is asked for again.
        let stored = self.objects.get_mut(&key);
        if stored.is_some_and(|stored| std::mem::take(&mut stored.is_left)) {
            self.damage.lost += 1;
        }
    }

    /// An own message that an earlier life had kept is not what it was.
    pub(crate) fn on_own_damaged(&mut self) {
        self.damage.own += 1;
    }

    /// A place for so many bytes, grown on write: a header's promise allocates nothing.
    fn create(&self, size: u64) -> io::Result<Stored> {
        let in_memory = || Content::Memory(Arc::new(Vec::new()));
        if size <= MEMORY_MAX {
            return Ok(Stored::new(in_memory(), size, None));
        }
        let created = match &self.durable {
            Some(durable) => durable.files.create().map(|(file, name)| (file, Some(name))),
            None => unnamed_file().map(|file| (file, None)),
        };
        match created {
            Ok((file, name)) => Ok(Stored::new(Content::File(Arc::new(file)), size, name)),
            Err(error) if is_full(&error) && size <= self.spare => {
                Ok(Stored { is_spare: true, ..Stored::new(in_memory(), size, None) })
            }
            Err(error) => Err(error),
        }
    }

    /// Its file has no room for the rest: goes on in memory, if there is room.
    fn move_to_memory(&mut self, key: ObjectKey) -> Result<(), StorageError> {
        let stored = self.objects.get_mut(&key).ok_or(StorageError::Failed)?;
        let Content::File(file) = &stored.content else { return Err(StorageError::Full) };
        if stored.counted > self.spare {
            return Err(StorageError::Full);
        }
        let length = file.metadata().map_err(|error| reason(&error))?.len().min(stored.counted);
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| StorageError::Full)?];
        read_file(file, 0, &mut bytes)?;
        self.spare -= stored.counted;
        stored.is_spare = true;
        stored.content = Content::Memory(Arc::new(bytes));
        if let (Some(name), Some(durable)) = (stored.file.take(), &self.durable) {
            durable.files.remove(&name);
        }
        Ok(())
    }

    fn file_of(&self, key: ObjectKey) -> Result<&Content, StorageError> {
        self.get(key).ok_or(StorageError::Failed)
    }
}

/// No room is another matter than a disk that fails.
fn reason(error: &io::Error) -> StorageError {
    if is_full(error) { StorageError::Full } else { StorageError::Failed }
}

impl Storage for MessageStore {
    fn open(&mut self, key: ObjectKey, _kind: ObjectKind, size: u64) -> Result<(), StorageError> {
        self.forget(key);
        if self.bytes.saturating_add(size) > self.bytes_max {
            return Err(StorageError::Full);
        }
        let stored = match self.left.take() {
            Some((left, content, file)) if left == key => {
                Stored { is_left: true, ..Stored::new(content, size, file) }
            }
            _ => self.create(size).map_err(|error| reason(&error))?,
        };
        if stored.is_spare {
            self.spare -= size;
        }
        self.objects.insert(key, stored);
        self.bytes += size;
        Ok(())
    }

    fn write(&mut self, key: ObjectKey, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        match &mut self.objects.get_mut(&key).ok_or(StorageError::Failed)?.content {
            Content::File(file) => match file.write_all_at(bytes, offset) {
                Err(error) if is_full(&error) => {
                    self.move_to_memory(key)?;
                    self.write(key, offset, bytes)
                }
                written => written.map_err(|error| reason(&error)),
            },
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
        let mut store = MessageStore::new(NodeId(1), 1 << 20, 1 << 20, None);
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
        let mut store = MessageStore::new(NodeId(1), 1000, 1000, None);
        for object in 0..5 {
            store.open(key(2, object), ObjectKind::Data, 1000).unwrap();
        }
        assert_eq!(store.open(key(2, 5), ObjectKind::Data, 1), Err(StorageError::Full));
        store.close(key(2, 0), false);
        store.open(key(2, 5), ObjectKind::Data, 1).unwrap();
    }

    #[test]
    fn a_long_message_goes_on_in_memory_where_its_file_has_no_room_as_long_as_that_has() {
        let mut store = MessageStore::new(NodeId(1), 1 << 30, 1 << 30, None);
        let bytes: Vec<u8> = (0..200_000).map(|n: u32| (n % 251) as u8).collect();
        for object in 0..2 {
            let key = key(2, object);
            let size = [200_000, RESERVE][usize::from(object)];
            store.open(key, ObjectKind::Data, size).unwrap();
            store.write(key, 100_000, &bytes[100_000..]).unwrap();
        }
        store.move_to_memory(key(2, 0)).unwrap();
        assert_eq!(store.move_to_memory(key(2, 1)), Err(StorageError::Full));
        store.write(key(2, 0), 0, &bytes[..100_000]).unwrap();
        assert!(matches!(store.get(key(2, 0)), Some(Content::Memory(there)) if **there == bytes));
        store.remove(key(2, 0));
        store.move_to_memory(key(2, 1)).unwrap();
        assert_eq!(store.spare, 0);
    }

    #[test]
    fn what_an_application_was_given_stays_as_it_was() {
        let mut store = MessageStore::new(NodeId(1), 1000, 1000, None);
        store.open(key(2, 0), ObjectKind::Data, 4).unwrap();
        store.write(key(2, 0), 0, b"good").unwrap();
        let given = store.get(key(2, 0)).unwrap().clone();
        store.write(key(2, 0), 0, b"evil").unwrap();
        store.remove(key(2, 0));
        assert!(matches!(given, Content::Memory(bytes) if **bytes == *b"good"));
    }
}
