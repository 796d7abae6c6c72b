//! How much sums help a receiver that lacks some of their terms, for observers that do not see the
//! factors. With random factors a sum adds information as long as each sum can be matched with a
//! term of its own. Terms can be solved when the nodes that share them have as many sums as terms.
//!
//! So sums are matched with terms. A new sum may take a term from another sum that can take a third
//! one. Sums over one repairer's terms are kept apart from those over another's: a receiver that
//! has as many sums of the first as it lacks terms of them needs no more of these, whatever it
//! lacks of the second.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};

/// Sums of different terms that are told apart; what is beyond counts as one with the last.
const SPANS_MAX: usize = 64;

/// Sums and the terms that they have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rank {
    /// The terms of sums that have the same.
    spans: Vec<BTreeSet<u64>>,
    /// Terms that a sum has for itself, and of which span it is.
    owner: BTreeMap<u64, usize>,
}

impl Rank {
    /// A sum of these terms. Whether it brings something.
    pub(crate) fn add(&mut self, of: &BTreeSet<u64>) -> bool {
        let Some(steps) = self.path(of) else { return false };
        let at = self.spans.iter().position(|span| span == of).unwrap_or_else(|| {
            if self.spans.len() < SPANS_MAX {
                self.spans.push(BTreeSet::new());
            }
            let last = self.spans.len() - 1;
            self.spans[last].extend(of);
            last
        });
        self.walk(at, steps);
        true
    }

    /// Whether a sum of these terms would bring something.
    pub(crate) fn gains(&self, of: &BTreeSet<u64>) -> bool {
        self.path(of).is_some()
    }

    /// Whether it is in a sum.
    pub(crate) fn spans(&self, term: u64) -> bool {
        self.spans.iter().any(|span| span.contains(&term))
    }

    /// A term has come by itself. Whether that brings something.
    pub(crate) fn on_known(&mut self, term: u64) -> bool {
        for span in &mut self.spans {
            span.remove(&term);
        }
        let Some(at) = self.owner.remove(&term) else { return true };
        let steps = self.path(&self.spans[at]);
        let new = steps.is_some();
        self.walk(at, steps.unwrap_or_default());
        self.tidy();
        new
    }

    /// Takes out the terms that follow.
    pub(crate) fn take_determined(&mut self) -> Vec<u64> {
        let mut open: BTreeSet<u64> = self.spans.iter().flatten().copied().collect();
        open.retain(|term| !self.owner.contains_key(term));
        let mut closed: Vec<usize> = (0..self.spans.len()).collect();
        // What shares a term with what is open is open, and so is all that its sums have for themselves.
        loop {
            let count = closed.len();
            closed.retain(|at| {
                let shares = !self.spans[*at].is_disjoint(&open);
                if shares {
                    let own = self.owner.iter().filter(|(_, owner)| *owner == at);
                    open.extend(own.map(|(term, _)| *term));
                }
                !shares
            });
            if closed.len() == count {
                break;
            }
        }
        let found: Vec<u64> =
            self.owner.keys().filter(|term| !open.contains(term)).copied().collect();
        for term in &found {
            self.owner.remove(term);
            self.spans.iter_mut().for_each(|span| _ = span.remove(term));
        }
        self.tidy();
        found
    }

    /// A sum of these can have a term of its own when these steps are taken: to each term the span of
    /// the sum that has it then; `None` is the new one.
    fn path(&self, of: &BTreeSet<u64>) -> Option<Vec<(u64, Option<usize>)>> {
        let mut from: BTreeMap<usize, (u64, Option<usize>)> = BTreeMap::new();
        let mut queue = VecDeque::from([None]);
        while let Some(at) = queue.pop_front() {
            for term in at.map_or(of, |at: usize| &self.spans[at]) {
                match self.owner.get(term) {
                    None => {
                        let mut steps = Vec::from([(*term, at)]);
                        let mut at = at;
                        while let Some((given_up, to)) = at.and_then(|at| from.get(&at)) {
                            steps.push((*given_up, *to));
                            at = *to;
                        }
                        return Some(steps);
                    }
                    Some(owner) if !from.contains_key(owner) => {
                        from.insert(*owner, (*term, at));
                        queue.push_back(Some(*owner));
                    }
                    Some(_) => {}
                }
            }
        }
        None
    }

    fn walk(&mut self, new: usize, steps: Vec<(u64, Option<usize>)>) {
        self.owner.extend(steps.into_iter().map(|(term, at)| (term, at.unwrap_or(new))));
    }

    /// Spans without sums are forgotten.
    fn tidy(&mut self) {
        let owners: BTreeSet<usize> = self.owner.values().copied().collect();
        let mut at = 0;
        self.spans.retain(|_| {
            at += 1;
            owners.contains(&(at - 1))
        });
        let places: BTreeMap<usize, usize> = owners.into_iter().zip(0..).collect();
        self.owner.values_mut().for_each(|owner| *owner = places[owner]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(terms: &[u64]) -> BTreeSet<u64> {
        terms.iter().copied().collect()
    }

    #[test]
    fn a_sum_brings_something_until_there_are_as_many_as_it_has_terms() {
        let mut rank = Rank::default();
        assert!(rank.add(&set(&[1, 2])) && rank.add(&set(&[1, 2])));
        assert!(!rank.add(&set(&[1, 2])) && !rank.gains(&set(&[2])) && rank.gains(&set(&[2, 3])));
        assert_eq!(rank.take_determined(), [1, 2]);
        assert!(!rank.spans(1));
    }

    #[test]
    fn terms_covered_by_one_repairers_sums_are_known_whatever_is_missing_of_anothers() {
        let mut rank = Rank::default();
        for _ in 0..3 {
            rank.add(&set(&[1, 2, 3]));
        }
        // Of four terms more there are sums, but too few.
        assert!(rank.add(&set(&[3, 4, 5, 6, 7])) && rank.add(&set(&[3, 4, 5, 6, 7])));
        assert!(!rank.gains(&set(&[1, 2, 3])));
        assert_eq!(rank.take_determined(), [1, 2, 3]);
        assert!(rank.gains(&set(&[4, 5])) && rank.spans(7));
    }

    #[test]
    fn a_term_gives_way_to_a_sum_that_has_no_other() {
        let mut rank = Rank::default();
        assert!(rank.add(&set(&[1, 2])) && rank.add(&set(&[1])) && rank.add(&set(&[2, 3])));
        assert!(!rank.gains(&set(&[1, 2, 3])));
        assert_eq!(rank.take_determined(), [1, 2, 3]);
    }

    #[test]
    fn a_term_that_can_be_solved_anyway_adds_nothing() {
        let mut rank = Rank::default();
        rank.add(&set(&[1, 2]));
        assert!(rank.on_known(1), "with it the other follows");
        assert_eq!(rank.take_determined(), [2]);
        rank.add(&set(&[5, 6]));
        rank.add(&set(&[5, 6]));
        assert!(!rank.on_known(6));
        assert_eq!(rank.take_determined(), [5]);
        assert!(rank.on_known(9), "nothing was known of it");
    }

    #[test]
    fn sums_of_ever_new_terms_are_tracked_up_to_a_bound() {
        let mut rank = Rank::default();
        for n in 0..2 * SPANS_MAX as u64 {
            assert!(rank.add(&set(&[2 * n, 2 * n + 1])));
        }
        assert_eq!(rank.spans.len(), SPANS_MAX);
    }

    /// A field so large that factors by chance do as they should: 2^61 - 1.
    const P: u128 = (1 << 61) - 1;

    fn power(of: u128, mut by: u128) -> u128 {
        let (mut out, mut square) = (1, of);
        while by > 0 {
            out = if by & 1 == 1 { out * square % P } else { out };
            (square, by) = (square * square % P, by >> 1);
        }
        out
    }

    /// Takes `row` so often from `other` that `other` has none of its term.
    fn reduce(other: &mut BTreeMap<u64, u128>, (term, row): (u64, &BTreeMap<u64, u128>)) {
        let Some(times) = other.get(&term).copied() else { return };
        for (term, factor) in row {
            let entry = other.entry(*term).or_default();
            *entry = (*entry + (P - times) * factor) % P;
            if *entry == 0 {
                other.remove(term);
            }
        }
    }

    /// By elimination: which sums bring something, and what follows.
    fn eliminate(sums: &[BTreeSet<u64>]) -> (Vec<bool>, Vec<u64>) {
        let mut rng = fanfare_proto::rng::Rng::new(1);
        let mut rows: Vec<(u64, BTreeMap<u64, u128>)> = Vec::new();
        let mut new = Vec::new();
        for sum in sums {
            let factor = |term: &u64, rng: &mut fanfare_proto::rng::Rng| {
                (*term, 1 + u128::from(rng.below(u64::MAX)) % (P - 1))
            };
            let mut row: BTreeMap<u64, u128> =
                sum.iter().map(|term| factor(term, &mut rng)).collect();
            rows.iter().for_each(|(term, other)| reduce(&mut row, (*term, other)));
            new.push(!row.is_empty());
            let Some((&term, &factor)) = row.iter().next() else { continue };
            let scale = power(factor, P - 2);
            row.values_mut().for_each(|factor| *factor = *factor * scale % P);
            rows.iter_mut().for_each(|(_, other)| reduce(other, (term, &row)));
            rows.push((term, row));
        }
        let mut alone: Vec<u64> =
            rows.iter().filter(|(_, row)| row.len() == 1).map(|(term, _)| *term).collect();
        alone.sort_unstable();
        (new, alone)
    }

    proptest! {
        #[test]
        fn the_estimated_rank_equals_that_of_elimination(
            sums in proptest::collection::vec(proptest::collection::btree_set(0..12_u64, 1..6), 0..16)
        ) {
            let mut rank = Rank::default();
            let reckoned: Vec<bool> = sums.iter().map(|sum| rank.add(sum)).collect();
            let (new, known) = eliminate(&sums);
            prop_assert_eq!(new, reckoned);
            prop_assert_eq!(known, rank.take_determined());
        }
    }
}
