//! A map with a limit. When it is full, the entry that was used least recently is dropped.
//!
//! Publishers decide how many topics there are, and an attacker may invent publishers. So what is
//! remembered of each must have a limit.

use alloc::collections::BTreeMap;

/// The map. What is in order of use has an entry for each of `entries`, and no others.
#[derive(Debug)]
pub struct LruMap<K, V> {
    entries: BTreeMap<K, (u64, V)>,
    by_use: BTreeMap<u64, K>,
    uses: u64,
    most: usize,
    forgotten: u64,
}

impl<K: Ord + Clone, V> LruMap<K, V> {
    /// For at most so many entries.
    pub fn new(most: usize) -> Self {
        Self { entries: BTreeMap::new(), by_use: BTreeMap::new(), uses: 0, most, forgotten: 0 }
    }

    /// What is remembered, without using it.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    /// Uses an entry, which is made if there is none.
    pub fn entry(&mut self, key: &K, new: impl FnOnce() -> V) -> &mut V {
        self.uses += 1;
        match self.entries.get(key) {
            Some((used, _)) => drop(self.by_use.remove(used)),
            None if self.entries.len() >= self.most => self.forget_oldest(),
            None => {}
        }
        self.by_use.insert(self.uses, key.clone());
        let (used, value) = self.entries.entry(key.clone()).or_insert_with(|| (0, new()));
        *used = self.uses;
        value
    }

    fn forget_oldest(&mut self) {
        if let Some((_, oldest)) = self.by_use.pop_first() {
            self.entries.remove(&oldest);
            self.forgotten += 1;
        }
    }

    /// Entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entries forgotten because there were too many.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_dropped_and_counted() {
        let mut recent = LruMap::new(2);
        *recent.entry(&1, || 10) += 1;
        recent.entry(&2, || 20);
        *recent.entry(&1, || 0) += 1;
        recent.entry(&3, || 30);
        assert_eq!([1, 2, 3].map(|key| recent.get(&key).copied()), [Some(12), None, Some(30)]);
        assert_eq!((recent.len(), recent.by_use.len(), recent.forgotten()), (2, 2, 1));
    }
}
