//! One bound for the bytes that several streams hold, such as what they read ahead.
//!
//! Each has a floor of its own, without which it could not go on. What is beyond the floors is shared: a
//! stream may have more than its share while nobody else wants it, and owes it as soon as somebody
//! below a share of its own was refused. Who is refused goes on with what it has.

use std::collections::BTreeMap;

use super::rates::part;

/// Memory, shared.
#[derive(Debug)]
pub(super) struct Pool {
    bound: usize,
    holders: BTreeMap<usize, Holder>,
    /// The most that was held at once, by all together.
    most: usize,
    /// How often a stream did not get what it wanted.
    refused: u64,
}

#[derive(Debug)]
struct Holder {
    weight: u32,
    /// Kept for it, whether it holds as much or not.
    floor: usize,
    held: usize,
    /// What it was refused though it is below its share, and still has to come by.
    wanted: usize,
}

/// How much is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    /// The most that may be held, bytes.
    pub bound: usize,
    /// The most that was held at once.
    pub most: usize,
    /// How often a stream wanted more than there was, and went on with what it had.
    pub refused: u64,
}

impl Pool {
    pub(super) fn new(bound: usize) -> Self {
        Self { bound, holders: BTreeMap::new(), most: 0, refused: 0 }
    }

    /// One more, for which `floor` is kept. False when that is not there any more.
    pub(super) fn join(&mut self, id: usize, weight: u32, floor: usize) -> bool {
        let fits = self.committed() + floor <= self.bound;
        if fits {
            self.holders.insert(id, Holder { weight, floor, held: 0, wanted: 0 });
        }
        fits
    }

    /// It has ended, and holds nothing.
    pub(super) fn leave(&mut self, id: usize) {
        self.holders.remove(&id);
    }

    /// Whether it may hold so much more; it does then.
    pub(super) fn take(&mut self, id: usize, bytes: usize) -> bool {
        let (free, share) = (self.bound - self.committed(), self.share(id));
        let others = self.wanted_by_others(id);
        let Some(holder) = self.holders.get_mut(&id) else { return false };
        let after = holder.held + bytes;
        let more = after.max(holder.floor) - holder.held.max(holder.floor);
        // What others wait for is not for who has its share already.
        let reserved = if after > share { others } else { 0 };
        let granted = more == 0 || more + reserved <= free;
        if granted {
            (holder.held, holder.wanted) = (after, 0);
            self.most = self.most.max(self.holders.values().map(|holder| holder.held).sum());
        } else {
            self.refused += 1;
            holder.wanted = if after <= share { bytes } else { 0 };
        }
        granted
    }

    /// It has nothing to send, and so wants nothing.
    pub(super) fn rest(&mut self, id: usize) {
        if let Some(holder) = self.holders.get_mut(&id) {
            holder.wanted = 0;
        }
    }

    /// It holds so much less.
    pub(super) fn give(&mut self, id: usize, bytes: usize) {
        if let Some(holder) = self.holders.get_mut(&id) {
            holder.held = holder.held.saturating_sub(bytes);
        }
    }

    /// What it has beyond its share and others wait for.
    pub(super) fn owes(&self, id: usize) -> usize {
        let held = self.holders.get(&id).map_or(0, |holder| holder.held);
        let free = self.bound - self.committed();
        let waited_for = self.wanted_by_others(id).saturating_sub(free);
        held.saturating_sub(self.share(id)).min(waited_for)
    }

    /// Those that owe something.
    pub(super) fn debtors(&self) -> Vec<usize> {
        self.holders.keys().copied().filter(|id| self.owes(*id) > 0).collect()
    }

    pub(super) fn used(&self) -> MemoryUse {
        MemoryUse { bound: self.bound, most: self.most, refused: self.refused }
    }

    /// What is held, or kept for somebody.
    fn committed(&self) -> usize {
        self.holders.values().map(|holder| holder.held.max(holder.floor)).sum()
    }

    fn wanted_by_others(&self, id: usize) -> usize {
        let others = self.holders.iter().filter(|(other, _)| **other != id);
        others.map(|(_, holder)| holder.wanted).sum()
    }

    /// Its floor, and by weight of what is beyond all floors.
    fn share(&self, id: usize) -> usize {
        let Some(holder) = self.holders.get(&id) else { return 0 };
        let floors: usize = self.holders.values().map(|holder| holder.floor).sum();
        let weights = self.holders.values().map(|holder| u64::from(holder.weight)).sum();
        let beyond = self.bound.saturating_sub(floors) as u64;
        holder.floor + part(beyond, holder.weight, weights) as usize
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::rng::Rng;

    use super::*;

    fn pool(bound: usize, weights: &[u32]) -> Pool {
        let mut pool = Pool::new(bound);
        weights.iter().enumerate().for_each(|(id, weight)| assert!(pool.join(id, *weight, 10)));
        pool
    }

    #[test]
    fn who_is_alone_may_have_all_but_the_others_floors() {
        let mut pool = pool(100, &[1, 1]);
        assert!(pool.take(0, 90) && !pool.take(0, 1));
        assert!(pool.take(1, 10), "its floor was kept for it");
        assert_eq!(pool.used(), MemoryUse { bound: 100, most: 100, refused: 1 });
    }

    #[test]
    fn who_has_too_much_owes_it_as_soon_as_another_is_refused_below_its_share() {
        let mut pool = pool(100, &[1, 1]);
        assert!(pool.take(0, 90));
        assert_eq!(pool.debtors(), [0; 0]);
        assert!(!pool.take(1, 30));
        assert_eq!((pool.debtors(), pool.owes(0)), (vec![0], 30));
        pool.give(0, 30);
        assert_eq!(pool.owes(0), 0);
        assert!(!pool.take(0, 1), "what was given back is for who waits");
        assert!(pool.take(1, 30));
    }

    #[test]
    fn who_has_nothing_more_to_send_is_owed_nothing() {
        let mut pool = pool(100, &[1, 1]);
        assert!(pool.take(0, 90) && !pool.take(1, 30));
        pool.rest(1);
        assert_eq!(pool.owes(0), 0);
        assert!(pool.take(0, 0) && !pool.take(0, 1), "its floor stays its own");
    }

    #[test]
    fn nobody_owes_anything_for_what_is_beyond_anothers_share() {
        let mut pool = pool(100, &[3, 1]);
        assert!(pool.take(0, 70));
        assert!(pool.take(1, 30));
        assert!(!pool.take(1, 1));
        assert_eq!(pool.debtors(), [0; 0]);
    }

    #[test]
    fn who_ends_leaves_everything_to_the_others() {
        let mut pool = pool(100, &[1, 1, 1]);
        assert!(pool.take(0, 80) && !pool.take(1, 20));
        pool.leave(0);
        assert!(pool.take(1, 90));
        assert!(!pool.join(3, 1, 1), "the others' floors are not for sale");
    }

    #[test]
    fn whatever_is_taken_and_given_the_bound_holds_and_everybody_comes_by_a_share() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let mut draw = |below: u64| (rng.next_u64() % below) as usize;
            let mut pool = pool(1000, &[1, 2, 3, 4]);
            let mut held = [0; 4];
            for _ in 0..500 {
                let (id, bytes) = (draw(4), draw(400));
                if draw(3) > 0 {
                    held[id] += if pool.take(id, bytes) { bytes } else { 0 };
                } else {
                    let bytes = bytes.min(held[id]);
                    pool.give(id, bytes);
                    held[id] -= bytes;
                }
                let all: usize = held.iter().sum();
                assert!(all <= 1000 && pool.most >= all, "seed {seed}");
            }
            let id = draw(4);
            let rest = pool.share(id).saturating_sub(held[id]);
            // Two tries: the first says that it is wanted, the others pay, the second has it.
            let first = pool.take(id, rest);
            for debtor in pool.debtors() {
                pool.give(debtor, pool.owes(debtor));
            }
            assert!(first || pool.take(id, rest), "seed {seed}");
        }
    }
}
