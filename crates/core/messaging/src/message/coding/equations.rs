//! What coded packets say about missing terms, kept until the terms can be solved. There is one
//! [`LinearSystem`] for each publisher, and one each for descriptions and symbols. This file has
//! their limits, and decides which terms to request.

use crate::message::{
    coding::coded_packet::{Scope, TERMS_MAX},
    coding::linear_system::{Added, LinearSystem, Solved},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

/// Sums kept of one publisher and class: ten times as many as one has terms, since what nobody has joins them. In the
/// tactical test at 50 % up to 520 wait for each other; where only 288 were kept, what gave way was requested again.
const SUMS_MAX: usize = 10 * TERMS_MAX;
/// Bytes of all sums kept, with their factors: those of two publishers' segments of 1400 bytes.
const BYTES_MAX: usize = 4 << 20;
/// So much more often than another a term is requested, before that one is requested in its place.
const IN_VAIN: u32 = 4;
/// Terms that change places with others at one request; the rest wait for the next, which is soon.
const SWAPS_MAX: usize = 32;

/// Of one publisher and class.
#[derive(Debug, Default)]
struct Sums {
    system: LinearSystem,
    /// How often terms were requested in vain.
    asked: BTreeMap<u64, u32>,
    /// Symbols that had been decoded when it was last looked for terms that came so.
    looked: u64,
}

/// All that is kept. Terms are numbered as the publisher's objects are: they do not wrap.
#[derive(Debug, Default)]
pub struct Equations {
    sums: BTreeMap<Scope, Sums>,
    /// Sums that there was no room for, or that are out of view, until they are told of.
    dropped: u64,
}

/// What became of one.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// It says nothing new.
    Known,
    /// It is kept; these terms follow.
    New(Solved),
    /// There is no room for it.
    Full,
}

impl Equations {
    /// A sum of terms that are not here, each with its factor. What has terms before `horizon` is of no use any more.
    pub fn take(
        &mut self,
        scope: Scope,
        (terms, bytes): (&[(u64, u8)], Vec<u8>),
        horizon: u64,
    ) -> Taken {
        let sums = self.sums.entry(scope).or_default();
        self.dropped += sums.system.forget_before(horizon) as u64;
        let old = terms.iter().any(|(term, _)| *term < horizon);
        let added = if old { Added::Full } else { sums.system.add(terms, bytes) };
        self.keep_within(scope);
        let taken = match added {
            Added::Known => Taken::Known,
            Added::New(solved) => Taken::New(solved),
            Added::Full => {
                self.dropped += 1;
                Taken::Full
            }
        };
        self.tidy(scope);
        taken
    }

    /// The oldest give way, of all first those of who has most.
    fn keep_within(&mut self, scope: Scope) {
        if let Some(sums) = self.sums.get_mut(&scope) {
            while sums.system.len() > SUMS_MAX && sums.system.drop_oldest() {
                self.dropped += 1;
            }
        }
        while self.bytes() > BYTES_MAX {
            let most = self.sums.iter_mut().max_by_key(|(_, sums)| sums.system.bytes());
            let Some((_, sums)) = most.filter(|(_, sums)| !sums.system.is_empty()) else { return };
            sums.system.drop_oldest();
            self.dropped += 1;
        }
    }

    fn bytes(&self) -> usize {
        self.sums.values().map(|sums| sums.system.bytes()).sum()
    }

    fn tidy(&mut self, scope: Scope) {
        if self.len(scope) == 0 {
            self.sums.remove(&scope);
        }
    }

    /// A term came by another way. Gives those that follow now.
    pub fn on_known(&mut self, scope: Scope, term: u64, bytes: &[u8]) -> Solved {
        let sums = self.sums.get_mut(&scope);
        let solved = sums.map_or_else(Vec::new, |sums| sums.system.on_known(term, bytes));
        self.tidy(scope);
        solved
    }

    /// Terms to look for, which may have been decoded since that was done last: `recovered` symbols have been so far.
    pub fn look(&mut self, scope: Scope, recovered: u64) -> BTreeSet<u64> {
        let Some(sums) = self.sums.get_mut(&scope).filter(|sums| sums.looked != recovered) else {
            return BTreeSet::new();
        };
        sums.looked = recovered;
        sums.system.unknowns()
    }

    /// Terms that follow when all others are here: one for each sum.
    pub fn follows(&self, scope: Scope) -> BTreeSet<u64> {
        self.sums.get(&scope).map_or_else(BTreeSet::new, |sums| sums.system.pivots())
    }

    /// Of these terms, which are to be requested, those that follow when the others come.
    pub fn follow_from(&self, scope: Scope, asked: &BTreeSet<u64>) -> BTreeSet<u64> {
        self.sums.get(&scope).map_or_else(BTreeSet::new, |sums| sums.system.pivots_from(asked))
    }

    /// All but those that follow are requested now. What was requested in vain so often nobody may have, but in a
    /// sum: it is to follow, and what would have followed is requested in its place.
    pub fn on_asked(&mut self, scope: Scope) {
        let Some(Sums { system, asked, .. }) = self.sums.get_mut(&scope) else { return };
        let (terms, follows) = (system.unknowns(), system.pivots());
        asked.retain(|term, _| terms.contains(term));
        for term in terms.difference(&follows) {
            let rounds = asked.entry(*term).or_default();
            *rounds = rounds.saturating_add(1);
        }
        let vain = |term: u64| asked.get(&term).copied().unwrap_or(0);
        let often = terms.difference(&follows).filter(|term| vain(**term) > IN_VAIN);
        let swaps = often.filter(|term| {
            let rounds = vain(**term);
            system.swap_in(**term, |pivot| Some(vain(pivot)).filter(|vain| rounds > vain + IN_VAIN))
        });
        swaps.take(SWAPS_MAX).for_each(drop);
    }

    /// Sums that gave way since it was asked last.
    pub fn take_dropped(&mut self) -> u64 {
        core::mem::take(&mut self.dropped)
    }

    /// Sums kept of it.
    pub fn len(&self, scope: Scope) -> usize {
        self.sums.get(&scope).map_or(0, |sums| sums.system.len())
    }

    /// They are wrong, or of no use any more.
    pub fn forget(&mut self, scope: Scope) {
        self.sums.remove(&scope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::coding::coded_packet::Class;
    use crate::message::{coding::coded_packet::factor, coding::linear_system::UNKNOWNS_MAX};
    use alloc::vec;
    use fanfare_fec::combine;
    use fanfare_proto::{InstanceId, NodeId};
    use proptest::prelude::*;

    const ORIGIN: Scope = ((NodeId(1), InstanceId(2)), Class::Info);

    /// Terms 10, 11, … of these bytes.
    fn bytes_of(term: u64) -> Vec<u8> {
        (0..term as u8).map(|n| n.wrapping_mul(7) ^ term as u8).collect()
    }
    fn sum(seed: u8, terms: &[u64]) -> (Vec<(u64, u8)>, Vec<u8>) {
        let factors: Vec<u8> = terms.iter().map(|term| factor(seed, *term as u32)).collect();
        let all: Vec<Vec<u8>> = terms.iter().map(|term| bytes_of(*term)).collect();
        let all: Vec<&[u8]> = all.iter().map(|bytes| &bytes[..]).collect();
        let mut out = vec![0; all.iter().map(|bytes| bytes.len()).max().unwrap()];
        combine(&factors, &all, &mut [&mut out]);
        (terms.iter().copied().zip(factors).collect(), out)
    }
    fn take(equations: &mut Equations, seed: u8, terms: &[u64]) -> Taken {
        let (terms, bytes) = sum(seed, terms);
        equations.take(ORIGIN, (&terms, bytes), 0)
    }
    /// Of 1400 bytes.
    fn take_pair(equations: &mut Equations, scope: Scope, n: u64) -> Taken {
        equations.take(scope, (&[(2 * n, 1), (2 * n + 1, 1)], vec![0; 1400]), 0)
    }
    fn unknowns(equations: &Equations) -> BTreeSet<u64> {
        equations.sums.get(&ORIGIN).map_or_else(BTreeSet::new, |sums| sums.system.unknowns())
    }
    /// As it was, but for the padding.
    fn right(found: &[(u64, Vec<u8>)]) -> Vec<u64> {
        let terms = found.iter().map(|(term, bytes)| {
            let (content, padding) = bytes.split_at(*term as usize);
            assert!(content == bytes_of(*term) && padding.iter().all(|byte| *byte == 0));
            *term
        });
        terms.collect()
    }

    #[test]
    fn as_many_sums_as_terms_solve_all_of_them_and_fewer_none() {
        let mut equations = Equations::default();
        let all = [10, 12, 15];
        assert_eq!(take(&mut equations, 1, &all), Taken::New(vec![]));
        assert_eq!(take(&mut equations, 1, &all), Taken::Known);
        assert_eq!(take(&mut equations, 2, &all), Taken::New(vec![]));
        assert_eq!((equations.len(ORIGIN), unknowns(&equations).len()), (2, 3));
        let Taken::New(found) = take(&mut equations, 3, &all) else { panic!("new") };
        assert_eq!(right(&found).len(), 3);
        assert_eq!((equations.len(ORIGIN), equations.bytes()), (0, 0));
    }

    #[test]
    fn a_term_that_comes_by_itself_stands_for_a_sum() {
        let mut equations = Equations::default();
        take(&mut equations, 1, &[10, 12, 15]);
        take(&mut equations, 2, &[10, 12, 15]);
        let found = equations.on_known(ORIGIN, 10, &bytes_of(10));
        assert_eq!(BTreeSet::from_iter(right(&found)), BTreeSet::from([12, 15]));
        assert_eq!(equations.on_known(ORIGIN, 12, &bytes_of(12)), []);
    }

    #[test]
    fn of_terms_in_sums_the_oldest_are_requested_and_the_newest_solved() {
        let mut equations = Equations::default();
        take(&mut equations, 1, &[10, 12, 15]);
        take(&mut equations, 2, &[10, 12, 15]);
        assert_eq!(equations.follows(ORIGIN), BTreeSet::from([12, 15]));
        equations.forget(ORIGIN);
        assert_eq!(equations.bytes(), 0);
    }

    #[test]
    fn a_term_requested_in_vain_is_swapped_with_another_in_turn() {
        let mut equations = Equations::default();
        take(&mut equations, 1, &[10, 12, 15]);
        let mut asked = Vec::new();
        for _ in 0..3 * IN_VAIN {
            equations.on_asked(ORIGIN);
            asked.push(*equations.follows(ORIGIN).first().unwrap());
        }
        assert_eq!(asked[..IN_VAIN as usize], [15; IN_VAIN as usize]);
        assert_eq!(BTreeSet::from_iter(asked), BTreeSet::from([10, 12, 15]));
        // What follows then is right all the same.
        let found = equations.on_known(ORIGIN, 15, &bytes_of(15));
        assert_eq!(found, []);
        let found = equations.on_known(ORIGIN, 12, &bytes_of(12));
        assert_eq!(right(&found), [10]);
        assert_eq!((equations.bytes(), equations.sums.len()), (0, 0));
    }

    #[test]
    fn swaps_per_request_are_limited() {
        let mut equations = Equations::default();
        (0..500).for_each(|n| _ = take_pair(&mut equations, ORIGIN, n));
        let before = equations.follows(ORIGIN);
        (0..=IN_VAIN).for_each(|_| equations.on_asked(ORIGIN));
        let after = equations.follows(ORIGIN);
        assert_eq!((after.len(), after.difference(&before).count()), (500, SWAPS_MAX));
    }

    #[test]
    fn terms_that_left_the_view_are_dropped_and_not_accepted() {
        let mut equations = Equations::default();
        (0..10).for_each(|n| _ = take_pair(&mut equations, ORIGIN, n));
        let (terms, bytes) = sum(1, &[10, 21]);
        assert_eq!(equations.take(ORIGIN, (&terms, bytes), 11), Taken::Full);
        assert_eq!((equations.len(ORIGIN), equations.take_dropped()), (4, 7));
    }

    #[test]
    fn sums_of_ever_new_terms_stay_within_the_limit() {
        let mut equations = Equations::default();
        for n in 0..2 * SUMS_MAX as u64 {
            let taken = take_pair(&mut equations, ORIGIN, n);
            assert!(matches!(taken, Taken::New(_) | Taken::Full));
            assert!(unknowns(&equations).len() <= UNKNOWNS_MAX);
        }
        let dropped = (equations.take_dropped(), equations.take_dropped());
        assert_eq!((equations.len(ORIGIN), dropped), (SUMS_MAX, (SUMS_MAX as u64, 0)));
        for node in 10..20 {
            let scope = ((NodeId(node), InstanceId(0)), Class::Symbol);
            (0..SUMS_MAX as u64).for_each(|n| _ = take_pair(&mut equations, scope, n));
            assert!(equations.len(scope) > 100, "who has most gives way");
        }
        assert!(equations.bytes() <= BYTES_MAX && equations.take_dropped() > 0);
    }

    #[test]
    fn sums_completed_by_others_stay_within_the_limit() {
        let mut equations = Equations::default();
        // Each has the pivot of the one before, and others that nothing else has.
        let long = |n: u64| -> Vec<(u64, u8)> {
            let fresh = (2..TERMS_MAX as u64).map(|term| (n * TERMS_MAX as u64 + term, 1));
            fresh.chain([((1 << 30) + n, 1), ((1 << 30) + n + 1, 1)]).collect()
        };
        let mut full = 0;
        for n in 0..2 * SUMS_MAX as u64 {
            let taken = equations.take(ORIGIN, (&long(n), vec![0; 400]), 0);
            full += u64::from(taken == Taken::Full);
            assert!(equations.bytes() <= BYTES_MAX && unknowns(&equations).len() <= UNKNOWNS_MAX);
        }
        assert!(full > 0 && equations.take_dropped() >= full);
    }

    proptest! {
        #[test]
        fn every_solved_term_is_right_and_all_are_solved_in_the_end(
            sums in proptest::collection::vec((any::<u8>(), proptest::collection::btree_set(10..40_u64, 2..9)), 0..40),
            alone in proptest::collection::vec(10..40_u64, 0..10),
            asked in 0..20_usize,
        ) {
            let mut equations = Equations::default();
            let mut known = BTreeSet::new();
            let mut alone = alone.into_iter();
            for (seed, terms) in sums {
                if let Some(term) = alone.next() {
                    known.extend(right(&equations.on_known(ORIGIN, term, &bytes_of(term))));
                    known.insert(term);
                }
                (0..asked).for_each(|_| equations.on_asked(ORIGIN));
                let terms: Vec<u64> = terms.into_iter().collect();
                let (factors, mut rest) = sum(seed, &terms);
                // As who takes it does: what is here goes out of it.
                let (here, factors): (Vec<_>, Vec<_>) =
                    factors.into_iter().partition(|(term, _)| known.contains(term));
                for (term, factor) in here {
                    let before = core::mem::take(&mut rest);
                    rest = vec![0; before.len()];
                    combine(&[1, factor], &[&before, &bytes_of(term)], &mut [&mut rest]);
                }
                if let Taken::New(found) = equations.take(ORIGIN, (&factors, rest), 0) {
                    known.extend(right(&found));
                }
                let open = unknowns(&equations);
                prop_assert!(open.is_disjoint(&known));
                prop_assert!(equations.len(ORIGIN) < open.len() || open.is_empty());
            }
        }
    }
}
