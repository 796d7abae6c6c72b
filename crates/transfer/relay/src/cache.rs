//! Objects of all senders, within a limit. What came first goes first.

use std::collections::{BTreeMap, VecDeque};

use fanfare_wire::{FecId, ObjectFlags};

use crate::object::Object;

/// A sender's node id, its instance and the object's id.
pub(crate) type Key = (u32, u16, u16);

/// Objects without any block count so many bytes: INFO and tables.
const OBJECT: usize = 2048;

/// Of a sender's life, objects further back than this are forgotten: their ids come again (RFC 5740 4.2.1
/// has 65,536 of them, half of which precede any other).
const BEHIND: u16 = 1 << 15;
/// Notes of what came first that nothing is behind any more are cleared away when there are so many.
const STALE_MAX: usize = 4096;

/// An object that began, the how manieth it was, and one of its blocks.
type Note = (Key, u64, Option<u32>);

/// What is kept of everything.
#[derive(Debug)]
pub(crate) struct Cache {
    objects: BTreeMap<Key, Object>,
    /// The newest object of each sender's life.
    newest: BTreeMap<(u32, u16), u16>,
    /// Objects, and their blocks, in the order in which they began.
    order: VecDeque<Note>,
    /// How many of these there would be without those that are gone.
    count: usize,
    /// Objects so far.
    born: u64,
    bytes: usize,
    limit: usize,
}

impl Cache {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            objects: BTreeMap::new(),
            newest: BTreeMap::new(),
            order: VecDeque::new(),
            count: 0,
            born: 0,
            bytes: 0,
            limit,
        }
    }

    pub(crate) fn get(&mut self, key: Key) -> Option<&mut Object> {
        self.objects.get_mut(&key)
    }

    /// The object, and a new one where there is none.
    pub(crate) fn object(&mut self, key: Key, fec_id: FecId, flags: ObjectFlags) -> &mut Object {
        if !self.objects.contains_key(&key) {
            self.advance(key);
            self.bytes += OBJECT;
            self.shrink();
            self.born += 1;
            let mut object = Object::new(fec_id, flags);
            object.born = self.born;
            self.objects.insert(key, object);
            self.note((key, self.born, None));
        }
        self.objects.entry(key).or_insert_with(|| Object::new(fec_id, flags))
    }

    /// A sender has come to this object: ids that are to come again are free.
    fn advance(&mut self, (sender, instance, object): Key) {
        let newest = *self.newest.entry((sender, instance)).or_insert(object);
        let steps = object.wrapping_sub(newest);
        if steps >= BEHIND {
            return;
        }
        self.newest.insert((sender, instance), object);
        for step in 1..=steps {
            let old = newest.wrapping_add(step).wrapping_add(BEHIND);
            self.remove((sender, instance, old));
        }
    }

    fn note(&mut self, note: Note) {
        self.order.push_back(note);
        self.count += 1;
        if self.order.len() > 2 * self.count + STALE_MAX {
            let objects = &self.objects;
            self.order.retain(|(key, born, block)| {
                let object = objects.get(key).filter(|object| object.born == *born);
                object.is_some_and(|o| block.is_none_or(|block| o.blocks.contains_key(&block)))
            });
            self.count = self.order.len();
        }
    }

    fn remove(&mut self, key: Key) {
        if let Some(object) = self.objects.remove(&key) {
            let freed: usize = object.blocks.values().map(|block| block.bytes()).sum();
            self.bytes = self.bytes.saturating_sub(freed + OBJECT);
            self.count = self.count.saturating_sub(object.blocks.len() + 1);
        }
    }

    /// Keeps a symbol; false when it is here already.
    pub(crate) fn insert(&mut self, key: Key, block: u32, symbol: u16, payload: &[u8]) -> bool {
        let Some(object) = self.objects.get_mut(&key) else { return false };
        let is_new = object.blocks.get(&block).is_none_or(|block| block.count() == 0);
        let (added, born) = (object.insert(block, symbol, payload), object.born);
        if is_new {
            self.note((key, born, Some(block)));
        }
        self.bytes += added.unwrap_or(0);
        self.shrink();
        added.is_some()
    }

    /// A symbol, from what is here.
    pub(crate) fn symbol(&mut self, key: Key, block: u32, symbol: u16) -> Option<Vec<u8>> {
        let (bytes, added) = self.objects.get_mut(&key)?.symbol(block, symbol);
        self.bytes += added;
        bytes
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn shrink(&mut self) {
        while self.bytes > self.limit {
            let Some((key, born, block)) = self.order.pop_front() else { return };
            let object = self.objects.get_mut(&key).filter(|object| object.born == born);
            let Some(object) = object else { continue };
            if let Some(block) = block.and_then(|block| object.blocks.remove(&block)) {
                self.bytes = self.bytes.saturating_sub(block.bytes());
                self.count = self.count.saturating_sub(1);
            }
            if object.blocks.values().all(|block| block.count() == 0) {
                self.remove(key);
            }
        }
    }

    /// Nothing of this sender's life is needed any more.
    pub(crate) fn forget(&mut self, sender: u32) {
        let gone: Vec<Key> =
            self.objects.keys().filter(|(of, ..)| *of == sender).copied().collect();
        gone.into_iter().for_each(|key| self.remove(key));
        self.newest.retain(|(of, _), _| *of != sender);
        self.order.retain(|((of, ..), ..)| *of != sender);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_stays_within_its_limit_and_forgets_the_oldest_first() {
        let mut cache = Cache::new(OBJECT + 5_000);
        let key = (1, 2, 3);
        cache.object(key, FecId::ReedSolomon8, ObjectFlags(ObjectFlags::FILE));
        for block in 0..10 {
            assert!(cache.insert(key, block, 0, &[7; 1000]));
        }
        assert!(cache.bytes() <= OBJECT + 5_000);
        assert_eq!((cache.symbol(key, 0, 0), cache.symbol(key, 9, 0)), (None, Some(vec![7; 1000])));
        cache.forget(1);
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn short_messages_without_any_block_stay_within_the_limit_and_ids_come_again() {
        let mut cache = Cache::new(100 * OBJECT);
        let flags = ObjectFlags(0);
        for object in 0..200_000_u32 {
            let key = (1, 2, object as u16);
            cache.object(key, FecId::ReedSolomon8, flags).info = Some(vec![1]);
            assert!(cache.bytes() <= 101 * OBJECT && cache.order.len() < 10_000);
        }
        let mut cache = Cache::new(usize::MAX);
        for object in 0..200_000_u32 {
            let key = (1, 2, object as u16);
            let object = cache.object(key, FecId::ReedSolomon8, flags);
            assert!(object.info.is_none(), "the id is used anew");
            object.info = Some(vec![1]);
            assert!(cache.objects.len() <= 1 << 15 && cache.order.len() < 80_000);
        }
        assert!(cache.get((1, 2, (200_000_u32 - 30_000) as u16)).is_some());
    }
}
