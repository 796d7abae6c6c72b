//! Parity symbols, computed just before they are sent.
//!
//! A block's source is read once for all parity symbols that will be needed soon. These wait here.

use crate::{
    sender::{coding::Coding, object::TransmitObject},
    storage::{Storage, StorageError},
};
use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use fanfare_wire::SourceBlockNumber;

/// Object ordinal and block.
type BlockKey = (u64, u32);

/// Rows of one block.
#[derive(Debug)]
struct Rows {
    first: u16,
    symbol_len: usize,
    bytes: Vec<u8>,
}

impl Rows {
    fn get(&self, number: u16) -> Option<&[u8]> {
        let index = usize::from(number.checked_sub(self.first)?);
        self.bytes.chunks_exact(self.symbol_len).nth(index)
    }
}

/// Which parity is wanted.
#[derive(Debug, Clone, Copy)]
pub(in crate::sender) struct ParityWanted {
    /// The object, by its ordinal.
    pub(in crate::sender) ordinal: u64,
    pub(in crate::sender) block: u32,
    pub(in crate::sender) number: u16,
    /// Numbers from `number` on that will be wanted soon, at least 1.
    pub(in crate::sender) ahead: u16,
}

/// Computed rows, oldest blocks given up first. Ordinals are never used again, so that rows of an
/// object that has left simply age.
#[derive(Debug)]
pub(in crate::sender) struct ParityCache {
    blocks: BTreeMap<BlockKey, Rows>,
    order: VecDeque<BlockKey>,
    held: usize,
    max: usize,
    /// Rows were left out or given up for want of room, and nobody has asked yet.
    short: bool,
    source: Vec<u8>,
}

impl ParityCache {
    /// A cache of at most `max` bytes, or of one symbol.
    pub(in crate::sender) fn new(max: usize) -> Self {
        let (blocks, order) = (BTreeMap::new(), VecDeque::new());
        Self { blocks, order, held: 0, max, short: false, source: Vec::new() }
    }

    /// From now on at most so many bytes are kept.
    pub(in crate::sender) fn set_max(&mut self, max: usize) {
        self.max = max;
        while self.held > self.max
            && let Some(oldest) = self.order.pop_front()
        {
            self.forget(oldest);
        }
    }

    /// Whether more room would have been of use since this was asked last.
    pub(in crate::sender) fn take_short(&mut self) -> bool {
        core::mem::take(&mut self.short)
    }

    /// Appends the parity symbol to `out`. Its length is that of the block's longest source symbol
    /// (NRL's form), made even over GF(2^16).
    ///
    /// # Errors
    /// What the storage says when it cannot give the source.
    pub(in crate::sender) fn append(
        &mut self,
        wanted: ParityWanted,
        object: &TransmitObject,
        coding: &Coding,
        storage: &mut dyn Storage,
        out: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        let key = (wanted.ordinal, wanted.block);
        if self.blocks.get(&key).and_then(|rows| rows.get(wanted.number)).is_none() {
            self.remove(key);
            let rows = self.compute(wanted, object, coding, storage)?;
            self.insert(key, rows);
        }
        let row = self.blocks.get(&key).and_then(|rows| rows.get(wanted.number));
        let row = row.ok_or(StorageError::Failed)?;
        // Behind the longest symbol of a stream's block there are zeros, in parity too.
        let longest = object.longest(wanted.block).unwrap_or(row.len());
        let unit = coding.code.as_ref().map_or(1, |code| code.field().element_size());
        out.extend_from_slice(&row[..row.len().min(longest.next_multiple_of(unit))]);
        Ok(())
    }

    fn compute(
        &mut self,
        wanted: ParityWanted,
        object: &TransmitObject,
        coding: &Coding,
        storage: &mut dyn Storage,
    ) -> Result<Rows, StorageError> {
        let code = coding.code.as_ref().ok_or(StorageError::Failed)?;
        self.read_source(wanted.block, object, storage)?;
        let segment = usize::from(object.partition.segment_size);
        let unit = code.field().element_size();
        let symbol_len = self.source.len().min(segment).next_multiple_of(unit);
        let room = (self.max / symbol_len.max(1)).max(1);
        let left = coding.parity.saturating_sub(wanted.number);
        let useful = usize::from(wanted.ahead.max(1).min(left));
        let count = useful.min(room);
        self.short |= count < useful;
        let mut bytes = alloc::vec![0; count * symbol_len];
        let source: Vec<&[u8]> = self.source.chunks(segment).collect();
        let mut rows: Vec<&mut [u8]> = bytes.chunks_exact_mut(symbol_len.max(1)).collect();
        code.encode(&source, usize::from(wanted.number), &mut rows);
        Ok(Rows { first: wanted.number, symbol_len: symbol_len.max(1), bytes })
    }

    /// A block's source symbols lie side by side in the object: one read.
    fn read_source(
        &mut self,
        block: u32,
        object: &TransmitObject,
        storage: &mut dyn Storage,
    ) -> Result<(), StorageError> {
        let (number, last) = (SourceBlockNumber(block), object.block_len(block).checked_sub(1));
        let span = |symbol| object.partition.span(number, symbol).ok_or(StorageError::Failed);
        let (start, _) = span(0)?;
        let (offset, len) = span(last.ok_or(StorageError::Failed)?)?;
        let bytes = usize::try_from(offset - start).map_err(|_| StorageError::Failed)? + len;
        self.source.resize(bytes, 0);
        storage.read(object.key, start, &mut self.source)
    }

    fn insert(&mut self, key: BlockKey, rows: Rows) {
        self.held += rows.bytes.len();
        self.blocks.insert(key, rows);
        self.order.push_back(key);
        while self.held > self.max && self.order.len() > 1 {
            if let Some(oldest) = self.order.pop_front() {
                self.short = true;
                self.forget(oldest);
            }
        }
    }

    fn remove(&mut self, key: BlockKey) {
        if self.blocks.contains_key(&key) {
            self.order.retain(|k| *k != key);
            self.forget(key);
        }
    }

    fn forget(&mut self, key: BlockKey) {
        if let Some(rows) = self.blocks.remove(&key) {
            self.held -= rows.bytes.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sender::coding::tests::coding,
        storage::{MemoryStorage, ObjectKey, ObjectKind},
        time::Time,
    };
    use fanfare_wire::{InstanceId, NodeId, ObjectTransportId};

    fn setup(size: usize, coding: &Coding) -> (TransmitObject, MemoryStorage, Vec<u8>) {
        let object = ObjectTransportId(0);
        let key = ObjectKey { sender: NodeId(1), instance: InstanceId(1), object };
        let mut storage = MemoryStorage::new(0);
        let bytes: Vec<u8> = (0..size).map(|i| (i * 7 + 3) as u8).collect();
        storage.put(key, bytes.clone());
        let partition = coding.partition(size as u64).unwrap();
        (TransmitObject::new(Time::ZERO, key, ObjectKind::Data, partition, None), storage, bytes)
    }

    fn wanted(number: u16, ahead: u16) -> ParityWanted {
        ParityWanted { ordinal: 1, block: 0, number, ahead }
    }

    #[test]
    fn parity_computed_ahead_equals_parity_computed_one_by_one_and_repairs_the_block() {
        let coding = coding(4, 3, 0);
        let (object, mut storage, bytes) = setup(25, &coding);
        let (mut cache, mut small) = (ParityCache::new(1000), ParityCache::new(0));
        for number in 0..3 {
            let (mut ahead, mut alone) = (Vec::new(), Vec::new());
            let w = wanted(number, 3 - number);
            cache.append(w, &object, &coding, &mut storage, &mut ahead).unwrap();
            small.append(w, &object, &coding, &mut storage, &mut alone).unwrap();
            assert_eq!((&ahead, ahead.len()), (&alone, 10));
            let mut lost = [0; 10];
            coding
                .code
                .as_ref()
                .unwrap()
                .recover(
                    3,
                    &[(0, &bytes[..10]), (2, &bytes[20..])],
                    &[(usize::from(number), &ahead)],
                    &mut [(1, &mut lost)],
                )
                .unwrap();
            assert_eq!(lost, bytes[10..20]);
        }
    }

    #[test]
    fn parity_of_a_single_short_symbol_is_as_short() {
        let coding = coding(4, 2, 0);
        let (object, mut storage, _) = setup(3, &coding);
        let mut out = Vec::new();
        let mut cache = ParityCache::new(1000);
        cache.append(wanted(0, 1), &object, &coding, &mut storage, &mut out).unwrap();
        assert_eq!(out.len(), 3);
    }

    #[test]
    fn the_cache_stays_within_its_bound() {
        let coding = coding(4, 2, 0);
        let (object, mut storage, _) = setup(400, &coding);
        let mut cache = ParityCache::new(45);
        for block in 0..10 {
            let w = ParityWanted { ordinal: 1, block, number: 0, ahead: 2 };
            cache.append(w, &object, &coding, &mut storage, &mut Vec::new()).unwrap();
            assert!(cache.held <= 45);
        }
        assert_eq!(cache.order.len(), 2);
    }

    #[test]
    fn a_smaller_cache_takes_effect_at_once_and_a_shortage_is_reported_once() {
        let coding = coding(4, 2, 0);
        let (object, mut storage, _) = setup(400, &coding);
        let mut cache = ParityCache::new(45);
        let mut append = |cache: &mut ParityCache, block, ahead| {
            let w = ParityWanted { ordinal: 1, block, number: 0, ahead };
            cache.append(w, &object, &coding, &mut storage, &mut Vec::new()).unwrap();
        };
        (0..2).for_each(|block| append(&mut cache, block, 2));
        assert!(!cache.take_short());
        append(&mut cache, 2, 2);
        assert!(cache.take_short() && !cache.take_short());
        cache.set_max(20);
        assert_eq!(cache.held, 20);
        cache.set_max(0);
        assert_eq!((cache.held, cache.blocks.len(), cache.order.len()), (0, 0, 0));
        append(&mut cache, 3, 2);
        assert_eq!((cache.held, cache.take_short()), (10, true));
    }

    #[test]
    fn an_unreadable_source_is_an_error() {
        let coding = coding(4, 2, 0);
        let (object, _, _) = setup(40, &coding);
        let mut empty = MemoryStorage::new(0);
        let mut cache = ParityCache::new(45);
        let result = cache.append(wanted(0, 1), &object, &coding, &mut empty, &mut Vec::new());
        assert_eq!(result, Err(StorageError::Failed));
    }
}
