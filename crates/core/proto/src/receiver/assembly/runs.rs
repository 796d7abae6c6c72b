//! Sets of numbers, kept as runs. Memory grows with the number of gaps, not with the number of
//! members.

use alloc::collections::BTreeMap;

/// A set of `u64` as disjoint, non-adjacent runs.
#[derive(Debug, Clone, Default)]
pub struct RunSet {
    /// First member of a run to the number after its last.
    runs: BTreeMap<u64, u64>,
}

impl RunSet {
    /// Adds `first..end`. O(log n) when it continues a run.
    pub fn insert(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        let (mut start, mut stop) = (first, end);
        if let Some((&s, &e)) = self.runs.range(..=first).next_back()
            && e >= first
        {
            if e >= end {
                return;
            }
            start = s;
        }
        while let Some((&s, &e)) = self.runs.range(start + 1..=stop).next() {
            self.runs.remove(&s);
            stop = stop.max(e);
        }
        self.runs.insert(start, stop);
    }

    /// Takes `first..end` out.
    pub fn remove(&mut self, first: u64, end: u64) {
        while let Some((s, e)) = self.runs.range(..end).next_back().map(|(s, e)| (*s, *e)) {
            if e <= first || first >= end {
                return;
            }
            self.runs.remove(&s);
            if e > end {
                self.runs.insert(end, e);
            }
            if s < first {
                self.runs.insert(s, first);
                return;
            }
        }
    }

    /// The runs (first, end), in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.runs.iter().map(|(&first, &end)| (first, end))
    }

    /// The runs (first, end) of what is in it of `first..end`, the last one first.
    pub fn within(&self, first: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        // Mostly what is requested lies behind the last run.
        let past = self.runs.last_key_value().is_none_or(|(_, stop)| *stop <= first);
        let runs = self.runs.range(..if past { 0 } else { end }).rev();
        let runs = runs.map(|(&start, &stop)| (start, stop));
        let runs = runs.take_while(move |(_, stop)| *stop > first);
        let cut = runs.map(move |(start, stop)| (start.max(first), stop.min(end)));
        cut.filter(|(start, stop)| start < stop)
    }

    /// Whether `number` is a member.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        self.run_from(number).is_some_and(|end| number < end)
    }

    /// The lowest number not below `from` that is not in the set.
    #[must_use]
    pub fn first_gap(&self, from: u64) -> u64 {
        self.run_from(from).map_or(from, |end| end.max(from))
    }

    /// Where the last run ends that begins at `number` or before. Mostly that is the last of all, which
    /// needs no search.
    fn run_from(&self, number: u64) -> Option<u64> {
        match self.runs.last_key_value() {
            Some((&first, &end)) if first <= number => Some(end),
            _ => self.runs.range(..=number).next_back().map(|(_, &end)| end),
        }
    }

    /// The first member not below `from`.
    #[must_use]
    pub fn first_member(&self, from: u64) -> Option<u64> {
        if self.contains(from) {
            return Some(from);
        }
        self.runs.range(from..).next().map(|(&start, _)| start)
    }

    /// The runs (start, end) of `first..end` that are not in the set, in order.
    pub fn gaps(&self, first: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut at = first;
        core::iter::from_fn(move || {
            let start = self.first_gap(at);
            if start >= end {
                return None;
            }
            at = self.first_member(start).unwrap_or(end).min(end);
            Some((start, at))
        })
    }

    /// Runs held: what the set costs.
    #[cfg(test)]
    pub fn runs(&self) -> usize {
        self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn set(runs: &[(u64, u64)]) -> RunSet {
        let mut set = RunSet::default();
        runs.iter().for_each(|&(first, end)| set.insert(first, end));
        set
    }

    #[test]
    fn numbers_in_order_are_one_run() {
        let mut set = RunSet::default();
        (0..1000).for_each(|n| set.insert(n, n + 1));
        assert_eq!((set.runs(), set.first_gap(0)), (1, 1000));
    }

    #[test]
    fn overlapping_and_adjacent_runs_become_one() {
        for order in
            [[(0, 4), (8, 12), (3, 8)], [(8, 12), (0, 4), (4, 9)], [(2, 9), (0, 12), (5, 6)]]
        {
            let set = set(&order);
            assert_eq!((set.runs(), set.first_gap(0)), (1, 12), "{order:?}");
        }
    }

    #[test]
    fn gaps_are_what_is_not_in_the_set() {
        let set = set(&[(2, 4), (6, 7)]);
        assert_eq!(set.gaps(0, 9).collect::<Vec<_>>(), [(0, 2), (4, 6), (7, 9)]);
        assert_eq!(set.gaps(2, 4).count(), 0);
        assert_eq!(set.gaps(3, 5).collect::<Vec<_>>(), [(4, 5)]);
    }

    #[test]
    fn runs_can_be_listed_from_a_given_start() {
        let set = set(&[(2, 4), (6, 7), (9, 12)]);
        assert_eq!(set.within(3, 11).collect::<Vec<_>>(), [(9, 11), (6, 7), (3, 4)]);
        assert_eq!(set.within(4, 6).count() + set.within(11, 11).count(), 0);
    }

    #[test]
    fn removal_splits_and_shortens_runs() {
        let taken = |first, end| {
            let mut set = set(&[(2, 6), (8, 12)]);
            set.remove(first, end);
            set.iter().collect::<Vec<_>>()
        };
        assert_eq!(taken(3, 4), [(2, 3), (4, 6), (8, 12)]);
        assert_eq!(taken(4, 10), [(2, 4), (10, 12)]);
        assert_eq!(taken(0, 20), []);
        assert_eq!(taken(6, 8), [(2, 6), (8, 12)]);
        assert_eq!(taken(9, 9), [(2, 6), (8, 12)]);
    }

    #[test]
    fn members_are_found_inside_runs_only() {
        let set = set(&[(2, 4)]);
        assert_eq!([1, 2, 3, 4].map(|n| set.contains(n)), [false, true, true, false]);
        assert_eq!(
            (set.first_member(0), set.first_member(3), set.first_member(4)),
            (Some(2), Some(3), None)
        );
    }
}
