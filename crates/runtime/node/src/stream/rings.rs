//! The memory of streams, as the protocol wants it.

use std::collections::BTreeMap;

use fanfare_proto::{DataBatch, ObjectKey, ObjectKind, SlotRing, Storage, StorageError};

/// A ring for each stream; nothing else is stored.
#[derive(Debug, Default)]
pub(super) struct Rings {
    rings: BTreeMap<ObjectKey, SlotRing>,
}

impl Rings {
    fn ring(&mut self, key: ObjectKey) -> Result<&mut SlotRing, StorageError> {
        self.rings.get_mut(&key).ok_or(StorageError::Failed)
    }
}

impl Storage for Rings {
    fn open(&mut self, _: ObjectKey, _: ObjectKind, _: u64) -> Result<(), StorageError> {
        Err(StorageError::Refused)
    }

    fn open_ring(&mut self, key: ObjectKey, slot: usize, slots: u64) -> Result<(), StorageError> {
        self.rings.insert(key, SlotRing::new(slot, slots)?);
        Ok(())
    }

    fn write(&mut self, key: ObjectKey, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        self.ring(key)?.write(offset, bytes)
    }

    fn write_batch(
        &mut self,
        key: ObjectKey,
        offset: u64,
        batch: DataBatch<'_>,
    ) -> Result<(), StorageError> {
        let ring = self.ring(key)?;
        let mut at = offset;
        for symbol in batch.symbols() {
            ring.write(at, symbol)?;
            at += symbol.len() as u64;
        }
        Ok(())
    }

    fn read(&mut self, key: ObjectKey, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        self.ring(key)?.read(offset, into)
    }

    fn append(
        &mut self,
        key: ObjectKey,
        offset: u64,
        len: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        self.ring(key)?.append(offset, len, into)
    }

    fn lend(&mut self, key: ObjectKey, offset: u64, len: usize) -> Option<&[u8]> {
        self.rings.get(&key)?.lend(offset, len)
    }

    fn close(&mut self, key: ObjectKey, _complete: bool) {
        self.rings.remove(&key);
    }
}
