//! What sums over several objects say of terms that are not here, kept until these follow.

use crate::mixture::{Class, TERMS_MAX};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec,
    vec::Vec,
};
use fanfare_fec::{combine, inverse, product};
use fanfare_proto::{InstanceId, NodeId};

/// Sums kept of one publisher and class: those of ten times as many terms as one has, since what nobody has joins
/// them. In the tactical test at 50 % up to 520 wait for each other; where only 288 were kept, what gave way was asked for again.
const SUMS_MAX: usize = 10 * TERMS_MAX;
/// Bytes of all sums kept, with their factors: those of two publishers' segments of 1400 bytes.
const BYTES_MAX: usize = 4 << 20;
/// Factors of one sum: as many as sums are kept, since each that is taken out of it may bring one.
const FACTORS_MAX: usize = 1024;
/// Bytes of a factor: five in a map's node, which is two thirds full.
const FACTOR_BYTES: usize = 8;

/// So much more often than another a term is asked for, before that one is asked for in its place.
const IN_VAIN: u32 = 4;

/// Of whose objects, and what of them.
pub(crate) type Origin = (NodeId, InstanceId, Class);

/// An equation: its factors and its right side. Its own term is in no other.
#[derive(Debug)]
struct Sum {
    own: u32,
    factors: BTreeMap<u32, u8>,
    bytes: Vec<u8>,
}

impl Sum {
    /// Adds another, so often that `term` goes.
    fn eliminate(&mut self, term: u32, of: (&BTreeMap<u32, u8>, &[u8])) {
        let Some(factor) = self.factors.get(&term).copied() else { return };
        for (term, of) in of.0 {
            let sum = self.factors.entry(*term).or_default();
            *sum ^= product(factor, *of);
            if *sum == 0 {
                self.factors.remove(term);
            }
        }
        self.bytes = scaled_sum((1, &self.bytes), (factor, of.1));
    }

    /// Bytes that it takes.
    fn size(&self) -> usize {
        self.bytes.len() + FACTOR_BYTES * self.factors.len()
    }

    /// What is its own: older terms are asked for first.
    fn newest(&self) -> Option<u32> {
        self.factors.keys().next_back().copied()
    }

    /// Its own term has factor 1.
    fn own(&mut self, term: u32) {
        let scale = inverse(self.factors.get(&term).copied().unwrap_or(1));
        self.own = term;
        self.factors.values_mut().for_each(|factor| *factor = product(scale, *factor));
        self.bytes = scaled_sum((scale, &self.bytes), (0, &[]));
    }
}

/// As long as the longer.
fn scaled_sum(a: (u8, &[u8]), b: (u8, &[u8])) -> Vec<u8> {
    let mut out = vec![0; a.1.len().max(b.1.len())];
    combine(&[a.0, b.0], &[a.1, b.1], &mut [&mut out]);
    out
}

/// Puts a sum to others, of which it is to have this term for itself. Gives how many grew too long by that: these are
/// lost, and all else that is known stays.
fn put(sums: &mut Vec<Sum>, mut sum: Sum, own: u32) -> u64 {
    sum.own(own);
    let before = sums.len();
    sums.retain_mut(|other| {
        other.eliminate(own, (&sum.factors, &sum.bytes));
        other.factors.len() <= FACTORS_MAX
    });
    let lost = before - sums.len();
    sums.push(sum);
    lost as u64
}

/// All that is kept.
#[derive(Debug, Default)]
pub(crate) struct Equations {
    sums: BTreeMap<Origin, Vec<Sum>>,
    /// How often terms of these were asked for in vain.
    asked: BTreeMap<Origin, BTreeMap<u32, u32>>,
    bytes: usize,
    /// Sums that there was no room for, until they are told of.
    dropped: u64,
}

/// What became of one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It says nothing new.
    Known,
    /// It is kept; these terms follow.
    New(Vec<(u32, Vec<u8>)>),
    /// There is no room for it.
    Full,
}

impl Equations {
    /// A sum of terms that are not here, each with its factor.
    pub(crate) fn take(
        &mut self,
        origin: Origin,
        terms: BTreeMap<u32, u8>,
        bytes: Vec<u8>,
    ) -> Taken {
        let sums = self.sums.entry(origin).or_default();
        let mut sum = Sum { own: 0, factors: terms, bytes };
        for other in &*sums {
            sum.eliminate(other.own, (&other.factors, &other.bytes));
        }
        let Some(own) = sum.newest() else {
            self.tidy(origin);
            return Taken::Known;
        };
        if sum.factors.len() > FACTORS_MAX {
            self.dropped += 1;
            self.tidy(origin);
            return Taken::Full;
        }
        if self.bytes + sum.size() > BYTES_MAX || sums.len() >= SUMS_MAX {
            self.dropped += 1;
            if sums.is_empty() {
                self.tidy(origin);
                return Taken::Full;
            }
            // One is lost, and all else that is known stays.
            sums.remove(0);
        }
        self.dropped += put(sums, sum, own);
        Taken::New(self.follow(origin))
    }

    /// A term came by another way. Gives those that follow now.
    pub(crate) fn on_known(
        &mut self,
        origin: Origin,
        term: u32,
        bytes: &[u8],
    ) -> Vec<(u32, Vec<u8>)> {
        let Some(sums) = self.sums.get_mut(&origin) else { return Vec::new() };
        let known = (&BTreeMap::from([(term, 1)]), bytes);
        sums.iter_mut().for_each(|sum| sum.eliminate(term, known));
        // Its own equation has to find another own term.
        if let Some(at) = sums.iter().position(|sum| sum.own == term) {
            let sum = sums.swap_remove(at);
            if let Some(own) = sum.newest() {
                self.dropped += put(sums, sum, own);
            }
        }
        self.follow(origin)
    }

    /// Takes out what stands alone.
    fn follow(&mut self, origin: Origin) -> Vec<(u32, Vec<u8>)> {
        let sums = self.sums.entry(origin).or_default();
        let mut found = Vec::new();
        let (alone, left) =
            core::mem::take(sums).into_iter().partition(|sum| sum.factors.len() == 1);
        *sums = left;
        found.extend(Vec::<Sum>::into_iter(alone).map(|sum| (sum.own, sum.bytes)));
        self.keep_within(origin);
        found
    }

    /// Others filled in, where one was put to them: the oldest give way.
    fn keep_within(&mut self, origin: Origin) {
        self.tidy(origin);
        let Some(sums) = self.sums.get_mut(&origin) else { return };
        let mut over = self.bytes.saturating_sub(BYTES_MAX);
        let give_way = sums.iter().take_while(|sum| {
            let gives_way = over > 0;
            over = over.saturating_sub(sum.size());
            gives_way
        });
        let count = give_way.count();
        sums.drain(..count);
        self.dropped += count as u64;
        self.tidy(origin);
    }

    fn tidy(&mut self, origin: Origin) {
        if self.sums.get(&origin).is_none_or(Vec::is_empty) {
            self.sums.remove(&origin);
            self.asked.remove(&origin);
        }
        self.bytes = self.sums.values().flatten().map(Sum::size).sum();
    }

    /// Terms that nothing is known of but sums.
    pub(crate) fn terms(&self, origin: Origin) -> BTreeSet<u32> {
        let sums = self.sums.get(&origin).into_iter().flatten();
        sums.flat_map(|sum| sum.factors.keys().copied()).collect()
    }

    /// Terms that follow when all others are here: one for each sum.
    pub(crate) fn follows(&self, origin: Origin) -> BTreeSet<u32> {
        let sums = self.sums.get(&origin).into_iter().flatten();
        sums.map(|sum| sum.own).collect()
    }

    /// Of these terms, which are to be asked for, those that follow when the others come.
    pub(crate) fn follow_from(&self, origin: Origin, asked: &BTreeSet<u32>) -> BTreeSet<u32> {
        let sums = self.sums.get(&origin).into_iter().flatten();
        let of = sums.filter(|sum| sum.factors.keys().all(|term| asked.contains(term)));
        of.map(|sum| sum.own).collect()
    }

    /// All but those that follow are asked for now. What was asked for in vain so often nobody may have, but in a
    /// sum: it is to follow, and what would have followed is asked for in its place.
    pub(crate) fn on_asked(&mut self, origin: Origin) {
        let (terms, follows) = (self.terms(origin), self.follows(origin));
        let Some(sums) = self.sums.get_mut(&origin) else { return };
        let asked = self.asked.entry(origin).or_default();
        asked.retain(|term, _| terms.contains(term));
        for term in terms.difference(&follows) {
            let rounds = asked.entry(*term).or_default();
            *rounds = rounds.saturating_add(1);
            let rounds = *rounds;
            let vain = |sum: &Sum| asked.get(&sum.own).copied().unwrap_or(0);
            let with = sums.iter().enumerate().filter(|(_, sum)| sum.factors.contains_key(term));
            let least = with.min_by_key(|(_, sum)| vain(sum));
            if let Some((at, _)) = least.filter(|(_, sum)| rounds > vain(sum) + IN_VAIN) {
                let sum = sums.swap_remove(at);
                self.dropped += put(sums, sum, *term);
            }
        }
        self.keep_within(origin);
    }

    /// Sums that there was no room for since it was asked last.
    pub(crate) fn take_dropped(&mut self) -> u64 {
        core::mem::take(&mut self.dropped)
    }

    /// Sums kept of it.
    pub(crate) fn len(&self, origin: Origin) -> usize {
        self.sums.get(&origin).map_or(0, Vec::len)
    }

    /// They are wrong, or of no use any more.
    pub(crate) fn forget(&mut self, origin: Origin) {
        self.sums.remove(&origin);
        self.tidy(origin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mixture::factor;
    use proptest::prelude::*;

    const ORIGIN: Origin = (NodeId(1), InstanceId(2), Class::Info);

    /// Terms 10, 11, … of these bytes.
    fn bytes_of(term: u32) -> Vec<u8> {
        (0..term as u8).map(|n| n.wrapping_mul(7) ^ term as u8).collect()
    }
    fn sum(seed: u8, terms: &[u32]) -> (BTreeMap<u32, u8>, Vec<u8>) {
        let factors: Vec<u8> = terms.iter().map(|term| factor(seed, *term)).collect();
        let all: Vec<Vec<u8>> = terms.iter().map(|term| bytes_of(*term)).collect();
        let all: Vec<&[u8]> = all.iter().map(|bytes| &bytes[..]).collect();
        let mut out = vec![0; all.iter().map(|bytes| bytes.len()).max().unwrap()];
        combine(&factors, &all, &mut [&mut out]);
        (terms.iter().copied().zip(factors).collect(), out)
    }
    fn take(equations: &mut Equations, seed: u8, terms: &[u32]) -> Taken {
        let (terms, bytes) = sum(seed, terms);
        equations.take(ORIGIN, terms, bytes)
    }
    /// As it was, but for the padding.
    fn right(found: &[(u32, Vec<u8>)]) -> Vec<u32> {
        let terms = found.iter().map(|(term, bytes)| {
            let (content, padding) = bytes.split_at(*term as usize);
            assert!(content == bytes_of(*term) && padding.iter().all(|byte| *byte == 0));
            *term
        });
        terms.collect()
    }

    #[test]
    fn as_many_sums_as_terms_tell_all_of_them_and_fewer_none() {
        let mut equations = Equations::default();
        let all = [10, 12, 15];
        assert_eq!(take(&mut equations, 1, &all), Taken::New(vec![]));
        assert_eq!(take(&mut equations, 1, &all), Taken::Known);
        assert_eq!(take(&mut equations, 2, &all), Taken::New(vec![]));
        assert_eq!((equations.len(ORIGIN), equations.terms(ORIGIN).len()), (2, 3));
        let Taken::New(found) = take(&mut equations, 3, &all) else { panic!("new") };
        assert_eq!(right(&found).len(), 3);
        assert_eq!((equations.len(ORIGIN), equations.bytes), (0, 0));
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
    fn of_terms_in_sums_the_oldest_are_to_be_asked_for_and_the_newest_follow() {
        let mut equations = Equations::default();
        take(&mut equations, 1, &[10, 12, 15]);
        take(&mut equations, 2, &[10, 12, 15]);
        assert_eq!(equations.follows(ORIGIN), BTreeSet::from([12, 15]));
        equations.forget(ORIGIN);
        assert_eq!(equations.bytes, 0);
    }

    #[test]
    fn what_is_asked_for_in_vain_is_to_follow_from_another_and_in_turn() {
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
        assert_eq!((equations.bytes, equations.asked.len()), (0, 0));
    }

    #[test]
    fn who_sends_sums_of_ever_new_terms_fills_no_more_than_the_room() {
        let mut equations = Equations::default();
        for n in 0..2 * SUMS_MAX as u32 {
            let terms = BTreeMap::from([(2 * n, 1), (2 * n + 1, 1)]);
            assert_eq!(equations.take(ORIGIN, terms, vec![0; 1400]), Taken::New(vec![]));
        }
        let dropped = (equations.take_dropped(), equations.take_dropped());
        assert_eq!((equations.len(ORIGIN), dropped), (SUMS_MAX, (SUMS_MAX as u64, 0)));
        for n in 0..10 {
            let origin = (NodeId(10 + n), InstanceId(0), Class::Symbol);
            (0..SUMS_MAX as u32).for_each(|n| {
                equations.take(origin, BTreeMap::from([(2 * n, 1), (2 * n + 1, 1)]), vec![0; 1400]);
            });
        }
        assert!(equations.bytes <= BYTES_MAX);
        // Of whom nothing is kept, nothing gives way.
        let none = (NodeId(99), InstanceId(0), Class::Symbol);
        let terms = BTreeMap::from([(0, 1), (1, 1)]);
        assert_eq!(equations.take(none, terms, vec![0; 1400]), Taken::Full);
        assert!(equations.take_dropped() > 0);
    }

    #[test]
    fn sums_of_which_others_fill_in_take_no_more_than_the_room_and_none_is_too_long() {
        let mut equations = Equations::default();
        // Each has the own term of the one before, and others that nothing else has.
        let long = |n: u32| {
            let fresh = (2..TERMS_MAX as u32).map(|term| (n * TERMS_MAX as u32 + term, 1));
            fresh.chain([((1 << 30) + n, 1), ((1 << 30) + n + 1, 1)]).collect()
        };
        for n in 0..2 * SUMS_MAX as u32 {
            equations.take(ORIGIN, long(n), vec![0; 400]);
            assert!(equations.bytes <= BYTES_MAX);
        }
        equations.on_asked(ORIGIN);
        let sums = &equations.sums[&ORIGIN];
        let factors: usize = sums.iter().map(|sum| sum.factors.len()).sum();
        assert!(sums.iter().all(|sum| sum.factors.len() <= FACTORS_MAX));
        assert!(factors * FACTOR_BYTES < BYTES_MAX && equations.take_dropped() > 0, "{factors}");
        let longer = (0..=FACTORS_MAX as u32).map(|term| ((1 << 29) + term, 1)).collect();
        let before = equations.len(ORIGIN);
        assert_eq!(equations.take(ORIGIN, longer, vec![0; 100]), Taken::Full);
        assert_eq!((equations.len(ORIGIN), equations.take_dropped()), (before, 1));
    }

    proptest! {
        #[test]
        fn whatever_follows_is_right_and_all_does_in_the_end(
            sums in proptest::collection::vec((any::<u8>(), proptest::collection::btree_set(10..40_u32, 2..9)), 0..40),
            alone in proptest::collection::vec(10..40_u32, 0..10),
        ) {
            let mut equations = Equations::default();
            let mut known = BTreeSet::new();
            let mut alone = alone.into_iter();
            for (seed, terms) in sums {
                if let Some(term) = alone.next() {
                    known.extend(right(&equations.on_known(ORIGIN, term, &bytes_of(term))));
                    known.insert(term);
                }
                let terms: Vec<u32> = terms.into_iter().collect();
                let (mut factors, bytes) = sum(seed, &terms);
                // As who takes it does: what is here goes out of it.
                let mut rest = bytes;
                for term in &known {
                    if let Some(factor) = factors.remove(term) {
                        rest = scaled_sum((1, &rest), (factor, &bytes_of(*term)));
                    }
                }
                if let Taken::New(found) = equations.take(ORIGIN, factors, rest) {
                    known.extend(right(&found));
                }
                let open = equations.terms(ORIGIN);
                prop_assert!(open.is_disjoint(&known));
                prop_assert!(equations.len(ORIGIN) < open.len() || open.is_empty());
            }
        }
    }
}
