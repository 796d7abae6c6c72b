//! Objects' content without stored bytes: content that can be computed anywhere, and a store that
//! checks it.
//!
//! Byte `i` of an object is a function of its key and `i`. The sender computes it when it reads.
//! The receiver compares what it gets, and stores only which ranges it has. So a run with a
//! thousand receivers of a large object needs no memory for their copies.

use fanfare_proto::{ObjectKey, ObjectKind, Storage, StorageError};
use std::collections::BTreeMap;

/// The bytes of `key` from `offset` on.
pub fn fill(key: ObjectKey, offset: u64, into: &mut [u8]) {
    let seed =
        u64::from(key.sender.0) << 32 | u64::from(key.instance.0) << 16 | u64::from(key.object.0);
    let skip = (offset % 8) as usize;
    let mut word = offset / 8;
    let mut done = 0;
    while done < into.len() {
        let bytes = mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word).to_le_bytes();
        let start = if done == 0 { skip } else { 0 };
        let take = (8 - start).min(into.len() - done);
        into[done..done + take].copy_from_slice(&bytes[start..start + take]);
        done += take;
        word += 1;
    }
}

/// splitmix64's last steps: neighbouring words look unrelated.
fn mix(x: u64) -> u64 {
    let z = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A store that holds no bytes: it knows what they must be.
#[derive(Debug, Default)]
pub struct CheckedStorage {
    objects: BTreeMap<ObjectKey, Held>,
    scratch: Vec<u8>,
    /// Bytes written that were not the object's.
    pub wrong_bytes: u64,
    /// Bytes written that were there already.
    pub rewritten_bytes: u64,
    /// Bytes written that were not there yet.
    pub new_bytes: u64,
}

/// One object that is being received: disjoint ranges, start to end.
#[derive(Debug, Default)]
struct Held {
    ranges: BTreeMap<u64, u64>,
    bytes: u64,
}

impl Held {
    /// Adds `start..end`; gives the number of bytes that were new.
    fn add(&mut self, start: u64, end: u64) -> u64 {
        let (mut from, mut to, mut known) = (start, end, 0);
        while let Some((&s, &e)) = self.ranges.range(..=to).next_back().filter(|(_, e)| **e >= from)
        {
            known += e.min(end).saturating_sub(s.max(start));
            (from, to) = (from.min(s), to.max(e));
            self.ranges.remove(&s);
        }
        self.ranges.insert(from, to);
        let new = end - start - known;
        self.bytes += new;
        new
    }
    /// Takes `start..end` out.
    fn remove(&mut self, start: u64, end: u64) {
        let ranges = std::mem::take(&mut self.ranges);
        self.bytes = 0;
        for (s, e) in ranges {
            for (from, to) in [(s, e.min(start)), (s.max(end), e)] {
                if from < to {
                    self.add(from, to);
                }
            }
        }
    }
    fn has(&self, start: u64, end: u64) -> bool {
        start == end || self.ranges.range(..=start).next_back().is_some_and(|(_, e)| *e >= end)
    }
}

impl CheckedStorage {
    /// Loses all that was written, as a crash does; counters stay.
    pub fn forget(&mut self) {
        self.objects.clear();
    }
    /// Bytes `start..end` of `key` are there, from before.
    pub fn keep(&mut self, key: ObjectKey, start: u64, end: u64) {
        if let Some(held) = self.objects.get_mut(&key) {
            held.add(start, end);
        }
    }
    /// Bytes `start..end` of `key` are wrong: as good as not there.
    pub fn lose(&mut self, key: ObjectKey, start: u64, end: u64) {
        if let Some(held) = self.objects.get_mut(&key) {
            held.remove(start, end);
        }
    }
    /// Whether `key` was opened and all of its `size` bytes were written.
    #[must_use]
    pub fn is_whole(&self, key: ObjectKey, size: u64) -> bool {
        self.objects.get(&key).is_some_and(|held| held.bytes == size && held.has(0, size))
    }
    /// Bytes of `key` written so far.
    #[must_use]
    pub fn held(&self, key: ObjectKey) -> u64 {
        self.objects.get(&key).map_or(0, |held| held.bytes)
    }
}

/// The sending side of a node: all of its own objects exist.
#[derive(Debug)]
pub struct HostStorage<'a> {
    /// Whose objects can be read without having been written.
    pub own: fanfare_proto::NodeId,
    /// Where received ones go.
    pub received: &'a mut CheckedStorage,
}

impl Storage for HostStorage<'_> {
    fn open(&mut self, key: ObjectKey, _kind: ObjectKind, _size: u64) -> Result<(), StorageError> {
        self.received.objects.insert(key, Held::default());
        Ok(())
    }

    fn write(&mut self, key: ObjectKey, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let store = &mut *self.received;
        let held = store.objects.get_mut(&key).ok_or(StorageError::Failed)?;
        store.scratch.resize(bytes.len(), 0);
        fill(key, offset, &mut store.scratch);
        if store.scratch != bytes {
            let wrong = store.scratch.iter().zip(bytes).filter(|(a, b)| a != b).count();
            store.wrong_bytes += wrong as u64;
        }
        let new = held.add(offset, offset + bytes.len() as u64);
        store.rewritten_bytes += bytes.len() as u64 - new;
        store.new_bytes += new;
        Ok(())
    }

    fn read(&mut self, key: ObjectKey, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        let end = offset + into.len() as u64;
        let readable = key.sender == self.own
            || self.received.objects.get(&key).is_some_and(|held| held.has(offset, end));
        if !readable {
            return Err(StorageError::Failed);
        }
        fill(key, offset, into);
        Ok(())
    }

    fn close(&mut self, key: ObjectKey, complete: bool) {
        if !complete {
            self.received.objects.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(0) };

    #[test]
    fn content_does_not_depend_on_how_it_is_read() {
        let mut whole = [0; 100];
        fill(KEY, 0, &mut whole);
        for (start, len) in [(0, 1), (3, 9), (7, 1), (8, 16), (13, 87)] {
            let mut part = vec![0; len];
            fill(KEY, start as u64, &mut part);
            assert_eq!(part, whole[start..start + len]);
        }
    }

    #[test]
    fn ranges_merge_and_count_each_byte_once() {
        let mut held = Held::default();
        assert_eq!([held.add(10, 20), held.add(30, 40), held.add(15, 35)], [10, 10, 10]);
        assert_eq!([held.add(0, 10), held.add(0, 40)], [10, 0]);
        assert!(held.has(0, 40) && !held.has(39, 41) && held.ranges.len() == 1);
        held.remove(10, 15);
        assert!(held.has(0, 10) && held.has(15, 40) && !held.has(9, 11) && held.bytes == 35);
    }

    #[test]
    fn a_wrong_byte_is_counted_and_an_unwritten_range_cannot_be_read() {
        let mut received = CheckedStorage::default();
        let mut shelf = HostStorage { own: NodeId(9), received: &mut received };
        let mut bytes = [0; 10];
        fill(KEY, 0, &mut bytes);
        bytes[3] ^= 1;
        shelf.open(KEY, ObjectKind::Data, 20).unwrap();
        shelf.write(KEY, 0, &bytes).unwrap();
        assert!(shelf.read(KEY, 0, &mut [0; 10]).is_ok());
        assert!(shelf.read(KEY, 5, &mut [0; 10]).is_err());
        assert_eq!((received.wrong_bytes, received.is_whole(KEY, 10)), (1, true));
    }
}
