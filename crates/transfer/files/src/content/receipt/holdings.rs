//! What is held of one sender's objects, in one digest.

use std::collections::BTreeMap;

use blake3::Hasher;
use fanfare_proto::ObjectTransportId;

/// The objects of one sender that are held, or were sent.
#[derive(Debug, Clone, Default)]
pub struct Holdings {
    /// By object id, unwrapped, or by place in a round of a carousel.
    roots: BTreeMap<u64, [u8; 32]>,
    /// The id seen last, unwrapped, by which others are unwrapped.
    last: Option<u64>,
    /// Sum of the hashes of all objects, by 64 bits: whatever comes when, it costs one more.
    sum: [u64; 4],
}

impl Holdings {
    /// Adds an object with the hash of its content.
    pub fn insert(&mut self, object: ObjectTransportId, root: [u8; 32]) {
        let number = self.unwrap(object);
        self.last = Some(self.last.map_or(number, |last| last.max(number)));
        self.insert_at(number, root);
    }

    /// Takes an object away: another one has come in its place.
    pub fn remove(&mut self, object: ObjectTransportId) {
        let number = self.unwrap(object);
        if let Some(root) = self.roots.remove(&number) {
            self.add(number, &root, u64::wrapping_sub);
        }
    }

    /// Adds an object by its place in a round, under whichever id it came.
    pub fn insert_at(&mut self, place: u64, root: [u8; 32]) {
        if let Some(before) = self.roots.insert(place, root) {
            self.add(place, &before, u64::wrapping_sub);
        }
        self.add(place, &root, u64::wrapping_add);
    }

    fn add(&mut self, number: u64, root: &[u8; 32], add: fn(u64, u64) -> u64) {
        let mut hasher = Hasher::new();
        hasher.update(&((number & 0xffff) as u16).to_be_bytes()).update(root);
        let hash = hasher.finalize();
        let words = hash.as_bytes().as_chunks().0.iter().copied().map(u64::from_be_bytes);
        self.sum.iter_mut().zip(words).for_each(|(sum, word)| *sum = add(*sum, word));
    }

    /// Object ids, or places in a round, and hashes.
    pub fn roots(&self) -> impl Iterator<Item = (u16, [u8; 32])> {
        self.roots.iter().map(|(number, root)| ((number & 0xffff) as u16, *root))
    }

    /// Objects held.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.roots.len() as u64
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// Whether an object with this root is held.
    #[must_use]
    pub fn contains(&self, root: &[u8; 32]) -> bool {
        self.roots.values().any(|held| held == root)
    }

    /// Whether the object at this place is held, with this root.
    #[must_use]
    pub fn has_at(&self, place: u64, root: &[u8; 32]) -> bool {
        self.roots.get(&place) == Some(root)
    }

    /// The sum, by 64 bits, of BLAKE3 over (object id, 16 bits big-endian | hash) of all objects.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = [0; 32];
        let words = self.sum.iter().flat_map(|word| word.to_be_bytes());
        digest.iter_mut().zip(words).for_each(|(to, byte)| *to = byte);
        digest
    }

    /// Ids wrap at 2^16; the nearest to the last one seen is meant.
    fn unwrap(&self, object: ObjectTransportId) -> u64 {
        const TURN: u64 = 1 << 16;
        match self.last {
            // One turn of room below, for objects before the first one seen.
            None => TURN + u64::from(object.0),
            Some(last) => {
                let steps = ObjectTransportId((last % TURN) as u16).distance_to(object);
                last.saturating_add_signed(i64::from(steps))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_equal_when_the_same_objects_are_held_in_whatever_order_they_came() {
        let (mut sent, mut held) = (Holdings::default(), Holdings::default());
        let ids: Vec<u16> = (65_300..=65_535).chain(0..600).collect();
        ids.iter().for_each(|id| sent.insert(ObjectTransportId(*id), [*id as u8; 32]));
        for pair in ids.chunks(2) {
            pair.iter().rev().for_each(|id| {
                held.insert(ObjectTransportId(*id), [*id as u8; 32]);
                let _ = held.digest();
            });
        }
        assert_eq!(sent.digest(), held.digest());
        assert_eq!((sent.len(), held.len()), (836, 836));
    }

    #[test]
    fn who_came_late_and_has_the_rest_from_the_next_round_holds_the_same() {
        let root = |place: u64| *blake3::hash(&place.to_be_bytes()).as_bytes();
        let (mut sent, mut held) = (Holdings::default(), Holdings::default());
        (0..1000).for_each(|place| sent.insert_at(place, root(place)));
        (700..1000).for_each(|place| held.insert_at(place, root(place)));
        held.insert_at(3, [0; 32]);
        assert_ne!(sent.digest(), held.digest());
        (0..1000).for_each(|place| held.insert_at(place, root(place)));
        assert_eq!((sent.digest(), sent.len()), (held.digest(), held.len()));
        assert!(held.has_at(3, &root(3)) && !held.has_at(3, &[0; 32]));
    }

    #[test]
    fn the_digest_is_blake3_over_id_and_hash() {
        let mut held = Holdings::default();
        held.insert(ObjectTransportId(0x0102), [3; 32]);
        let mut bytes = vec![1, 2];
        bytes.extend([3; 32]);
        assert_eq!(held.digest(), *blake3::hash(&bytes).as_bytes());
    }

    #[test]
    fn a_missing_or_a_different_object_changes_the_digest() {
        let mut all = Holdings::default();
        let mut some = Holdings::default();
        let mut other = Holdings::default();
        for id in 0..3 {
            all.insert(ObjectTransportId(id), [1; 32]);
            other.insert(ObjectTransportId(id), [if id == 1 { 2 } else { 1 }; 32]);
            if id != 1 {
                some.insert(ObjectTransportId(id), [1; 32]);
            }
        }
        assert_ne!(all.digest(), some.digest());
        assert_ne!(all.digest(), other.digest());
    }
}
