//! Objects of all senders, within a limit. What came first goes first.

use std::collections::{BTreeMap, VecDeque};

use fanfare_wire::{FecId, ObjectFlags};

use crate::object::Object;

/// A sender's node id, its instance and the object's id.
pub(crate) type Key = (u32, u16, u16);

/// Objects without any block count so many bytes: INFO and tables.
const OBJECT: usize = 2048;

/// What is kept of everything.
#[derive(Debug)]
pub(crate) struct Cache {
    objects: BTreeMap<Key, Object>,
    /// Blocks in the order in which they began.
    order: VecDeque<(Key, u32)>,
    bytes: usize,
    limit: usize,
}

impl Cache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { objects: BTreeMap::new(), order: VecDeque::new(), bytes: 0, limit }
    }

    pub(crate) fn get(&mut self, key: Key) -> Option<&mut Object> {
        self.objects.get_mut(&key)
    }

    /// The object, and a new one where there is none.
    pub(crate) fn object(&mut self, key: Key, fec_id: FecId, flags: ObjectFlags) -> &mut Object {
        if !self.objects.contains_key(&key) {
            self.bytes += OBJECT;
            self.shrink();
        }
        self.objects.entry(key).or_insert_with(|| Object::new(fec_id, flags))
    }

    /// Keeps a symbol; false when it is here already.
    pub(crate) fn insert(&mut self, key: Key, block: u32, symbol: u16, payload: &[u8]) -> bool {
        let Some(object) = self.objects.get_mut(&key) else { return false };
        if !object.blocks.contains_key(&block) {
            self.order.push_back((key, block));
        }
        let added = object.insert(block, symbol, payload);
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
            let Some((key, block)) = self.order.pop_front() else { return };
            let Some(object) = self.objects.get_mut(&key) else { continue };
            let freed = object.blocks.remove(&block).map_or(0, |block| block.bytes());
            self.bytes = self.bytes.saturating_sub(freed);
            if object.blocks.is_empty() {
                self.objects.remove(&key);
                self.bytes = self.bytes.saturating_sub(OBJECT);
            }
        }
    }

    /// Nothing of this sender's life is needed any more.
    pub(crate) fn forget(&mut self, sender: u32) {
        let (order, objects) = (&mut self.order, &mut self.objects);
        order.retain(|((of, ..), _)| *of != sender);
        let gone: Vec<Key> = objects.keys().filter(|(of, ..)| *of == sender).copied().collect();
        for key in gone {
            let blocks = objects.remove(&key).map(|object| object.blocks).unwrap_or_default();
            let freed: usize = blocks.values().map(|block| block.bytes()).sum();
            self.bytes = self.bytes.saturating_sub(freed + OBJECT);
        }
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
}
