//! A set of blocks as disjoint ranges. A request for a whole object of millions of blocks is one
//! entry.

use alloc::collections::BTreeMap;

/// Most ranges kept; what would pass that is left out, and requested again by who lacks it.
const RANGES_MAX: usize = 4096;

/// Blocks, as ranges `first..end`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::sender) struct BlockRanges {
    ranges: BTreeMap<u32, u32>,
}

impl BlockRanges {
    pub(in crate::sender) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The lowest block.
    pub(in crate::sender) fn first(&self) -> Option<u32> {
        self.ranges.first_key_value().map(|(first, _)| *first)
    }

    pub(in crate::sender) fn contains(&self, block: u32) -> bool {
        self.ranges.range(..=block).next_back().is_some_and(|(_, end)| block < *end)
    }

    /// Whether there are more than `count` blocks.
    pub(in crate::sender) fn exceeds(&self, count: u32) -> bool {
        let lens = self.iter().map(|(first, end)| end - first);
        let mut left = count;
        lens.into_iter().any(|len| {
            let over = len > left;
            left = left.saturating_sub(len);
            over
        })
    }

    /// The ranges `(first, end)` in order.
    pub(in crate::sender) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.ranges.iter().map(|(first, end)| (*first, *end))
    }

    /// Takes out all from `block` on.
    pub(in crate::sender) fn remove_from(&mut self, block: u32) {
        drop(self.ranges.split_off(&block));
        if let Some((_, end)) = self.ranges.iter_mut().next_back() {
            *end = (*end).min(block);
        }
    }

    /// Adds `first..end`; an empty range adds nothing.
    pub(in crate::sender) fn insert(&mut self, first: u32, end: u32) {
        if first >= end || self.ranges.len() >= RANGES_MAX {
            return;
        }
        let (mut first, mut end) = (first, end);
        while let Some((f, e)) = self.ranges.range(..=end).next_back().map(|(f, e)| (*f, *e)) {
            if e < first {
                break;
            }
            self.ranges.remove(&f);
            (first, end) = (first.min(f), end.max(e));
        }
        self.ranges.insert(first, end);
    }

    /// Takes all of `other` in.
    pub(in crate::sender) fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(first, end)| self.insert(first, end));
    }

    /// Takes the lowest block out.
    pub(in crate::sender) fn remove_first(&mut self) {
        if let Some((first, end)) = self.ranges.pop_first()
            && first + 1 < end
        {
            self.ranges.insert(first + 1, end);
        }
    }

    /// Takes one block out.
    pub(in crate::sender) fn remove(&mut self, block: u32) {
        let holding = self.ranges.range(..=block).next_back().map(|(first, end)| (*first, *end));
        let Some((first, end)) = holding.filter(|(_, end)| block < *end) else { return };
        self.ranges.remove(&first);
        for (first, end) in [(first, block), (block + 1, end)] {
            if first < end {
                self.ranges.insert(first, end);
            }
        }
    }

    /// Leaves out all blocks up to and including `block`.
    pub(in crate::sender) fn remove_through(&mut self, block: u32) {
        while let Some((first, end)) = self.ranges.first_key_value().map(|(f, e)| (*f, *e)) {
            if first > block {
                break;
            }
            self.ranges.remove(&first);
            self.insert(block.saturating_add(1), end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn ranges(list: &[(u32, u32)]) -> BlockRanges {
        let mut ranges = BlockRanges::default();
        list.iter().for_each(|(first, end)| ranges.insert(*first, *end));
        ranges
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let set = ranges(&[(0, 2), (4, 6), (2, 4), (10, 12), (11, 20)]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(0, 6), (10, 20)]);
        assert!(set.contains(5) && !set.contains(6) && set.contains(19));
    }

    #[test]
    fn blocks_are_removed_from_one_on() {
        let mut set = ranges(&[(0, 6), (8, 12), (14, 20)]);
        set.remove_from(10);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(0, 6), (8, 10)]);
        set.remove_from(0);
        assert!(set.is_empty());
    }

    #[test]
    fn blocks_are_removed_from_the_lowest() {
        let mut set = ranges(&[(0, 2), (5, 8)]);
        set.remove_first();
        assert_eq!(set.first(), Some(1));
        set.remove_through(5);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(6, 8)]);
    }
}
