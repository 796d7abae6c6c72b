//! The interface to the driver's storage of objects.
//!
//! The core reads what it sends and writes what it receives through this trait. The driver passes
//! it to each call, as it passes the time. Calls must not block for long: a driver with a slow disk
//! puts a queue in front of it.

pub use super::storage_error::StorageError;
use crate::types::{peer_repair::Incarnation, stream::ring::SlotRing};
use alloc::{collections::BTreeMap, vec::Vec};
use fanfare_wire::{DataBatch, InstanceId, NodeId, ObjectTransportId};

/// Names one object: of this node when it sends, of a remote sender when it receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// Whose object.
    pub sender: NodeId,
    /// Which instance of that sender.
    pub instance: InstanceId,
    /// Which object.
    pub object: ObjectTransportId,
}

impl ObjectKey {
    /// The sender and its instance.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        (self.sender, self.instance)
    }
}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        // Plain order of the number: only to keep maps in one order, not an order in time.
        (self.sender, self.instance, self.object.0).cmp(&(
            other.sender,
            other.instance,
            other.object.0,
        ))
    }
}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// What kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// NORM_OBJECT_DATA.
    Data,
    /// NORM_OBJECT_FILE.
    File,
    /// NORM_OBJECT_STREAM.
    Stream,
}

/// The driver's store. Calls for one object come from one session, in order.
pub trait Storage {
    /// An object of a remote sender begins: make room for `size` bytes, or refuse.
    fn open(&mut self, key: ObjectKey, kind: ObjectKind, size: u64) -> Result<(), StorageError>;
    /// A stream begins, of this node or of a remote sender: make room for `slots` symbols of `slot`
    /// bytes. Offsets of what is written and read then only grow, and each stands for its remainder.
    /// A store that has no streams refuses.
    fn open_ring(&mut self, key: ObjectKey, slot: usize, slots: u64) -> Result<(), StorageError> {
        let _ = (key, slot, slots);
        Err(StorageError::Refused)
    }
    /// Puts received bytes in their final place.
    fn write(&mut self, key: ObjectKey, offset: u64, bytes: &[u8]) -> Result<(), StorageError>;
    /// Puts a batch of consecutive symbols in its final place, which begins at `offset`.
    fn write_batch(
        &mut self,
        key: ObjectKey,
        offset: u64,
        batch: DataBatch<'_>,
    ) -> Result<(), StorageError> {
        let mut at = offset;
        batch.symbols().try_for_each(|symbol| {
            let offset = at;
            at += symbol.len() as u64;
            self.write(key, offset, symbol)
        })
    }
    /// Reads bytes: of an object being sent, or received ones that decoding needs back.
    fn read(&mut self, key: ObjectKey, offset: u64, into: &mut [u8]) -> Result<(), StorageError>;
    /// The same at the end of `into`: a store that has the bytes in memory need not have room cleared
    /// for them first.
    fn append(
        &mut self,
        key: ObjectKey,
        offset: u64,
        len: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        let start = into.len();
        into.resize(start + len, 0);
        self.read(key, offset, &mut into[start..])
    }
    /// Bytes of an object being sent as they stand in memory: `len` of them, or as many as are there
    /// in one piece. `None`: they have to be read.
    fn lend(&mut self, key: ObjectKey, offset: u64, len: usize) -> Option<&[u8]> {
        let _ = (key, offset, len);
        None
    }
    /// The core is done with the object: it was received whole (`complete`), aborted, or purged
    /// from the sender's cache.
    fn close(&mut self, key: ObjectKey, complete: bool);
}

/// Objects in memory: for tests, simulation and small things.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    objects: BTreeMap<ObjectKey, Vec<u8>>,
    rings: BTreeMap<ObjectKey, SlotRing>,
    limit: u64,
}

impl MemoryStorage {
    /// A store that refuses objects above `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { objects: BTreeMap::new(), rings: BTreeMap::new(), limit }
    }
    /// Puts an object to send.
    pub fn put(&mut self, key: ObjectKey, bytes: Vec<u8>) {
        self.objects.insert(key, bytes);
    }
    /// An object's bytes as they stand.
    #[must_use]
    pub fn get(&self, key: ObjectKey) -> Option<&[u8]> {
        self.objects.get(&key).map(Vec::as_slice)
    }
    /// Takes an object out.
    pub fn take(&mut self, key: ObjectKey) -> Option<Vec<u8>> {
        self.objects.remove(&key)
    }
}

impl Storage for MemoryStorage {
    fn open(&mut self, key: ObjectKey, _kind: ObjectKind, size: u64) -> Result<(), StorageError> {
        if size > self.limit {
            return Err(StorageError::Refused);
        }
        // Grown on write, not here: a header's promise allocates nothing.
        self.objects.insert(key, Vec::new());
        Ok(())
    }
    fn open_ring(&mut self, key: ObjectKey, slot: usize, slots: u64) -> Result<(), StorageError> {
        if slots.saturating_mul(slot as u64) > self.limit {
            return Err(StorageError::Refused);
        }
        self.rings.insert(key, SlotRing::new(slot, slots)?);
        Ok(())
    }
    fn write(&mut self, key: ObjectKey, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        if let Some(ring) = self.rings.get_mut(&key) {
            return ring.write(offset, bytes);
        }
        let object = self.objects.get_mut(&key).ok_or(StorageError::Failed)?;
        let start = usize::try_from(offset).map_err(|_| StorageError::Full)?;
        let end = start.checked_add(bytes.len()).ok_or(StorageError::Full)?;
        if object.len() < end {
            object.resize(end, 0);
        }
        object[start..end].copy_from_slice(bytes);
        Ok(())
    }
    fn read(&mut self, key: ObjectKey, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        if let Some(ring) = self.rings.get(&key) {
            return ring.read(offset, into);
        }
        let object = self.objects.get(&key).ok_or(StorageError::Failed)?;
        let start = usize::try_from(offset).map_err(|_| StorageError::Failed)?;
        let bytes = start.checked_add(into.len()).and_then(|end| object.get(start..end));
        into.copy_from_slice(bytes.ok_or(StorageError::Failed)?);
        Ok(())
    }
    fn lend(&mut self, key: ObjectKey, offset: u64, len: usize) -> Option<&[u8]> {
        if let Some(ring) = self.rings.get(&key) {
            return ring.lend(offset, len);
        }
        let rest = self.objects.get(&key)?.get(usize::try_from(offset).ok()?..)?;
        Some(&rest[..len.min(rest.len())])
    }
    fn close(&mut self, key: ObjectKey, _complete: bool) {
        self.rings.remove(&key);
    }
}
