//! A linear system over GF(2^8) that grows by one equation at a time, in reduced row echelon form.
//! Each equation has a pivot: a term that no other equation has. It is solved when no other term is
//! left in it.
//!
//! Factors are stored by column, one column for each unknown term. So one equation is subtracted
//! from another at the speed of the code's kernels, whatever others send.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec,
    vec::Vec,
};
use fanfare_fec::{combine, inverse};

/// Unknown terms that equations may have between them: with 50 % lost the tactical test has up to 900.
pub const UNKNOWNS_MAX: usize = 2048;

/// Terms that were solved, and their bytes.
pub type Solved = Vec<(u64, Vec<u8>)>;

/// An equation: its factors and its right side.
#[derive(Debug)]
struct Row {
    /// The column of its own term, whose factor is 1.
    pivot: usize,
    /// By column; what is beyond the last is zero.
    factors: Vec<u8>,
    bytes: Vec<u8>,
}

impl Row {
    fn factor(&self, column: usize) -> u8 {
        self.factors.get(column).copied().unwrap_or(0)
    }
    /// Adds another, so often that `column` goes; false when it is not in this one.
    fn eliminate(&mut self, column: usize, (factors, bytes): (&[u8], &[u8])) -> bool {
        let factor = self.factor(column);
        if factor != 0 {
            add(&mut self.factors, factor, factors);
            add(&mut self.bytes, factor, bytes);
        }
        factor != 0
    }
    /// From now on `column` is its own.
    fn pivot_on(&mut self, column: usize) {
        let scale = inverse(self.factor(column).max(1));
        self.pivot = column;
        for bytes in [&mut self.factors, &mut self.bytes] {
            let of = core::mem::replace(bytes, vec![0; bytes.len()]);
            combine(&[scale], &[&of], &mut [bytes]);
        }
    }
    fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        let used = self.factors.iter().enumerate().filter(|(_, factor)| **factor != 0);
        used.map(|(column, _)| column)
    }
    fn is_solved(&self) -> bool {
        self.columns().nth(1).is_none()
    }
    fn size(&self) -> usize {
        self.factors.len() + self.bytes.len()
    }
}

/// Adds `factor` times `of`, as long as the longer of both.
fn add(to: &mut Vec<u8>, factor: u8, of: &[u8]) {
    let mut sum = vec![0; to.len().max(of.len())];
    combine(&[1, factor], &[to, of], &mut [&mut sum]);
    *to = sum;
}

/// The equations of one kind, oldest first.
#[derive(Debug, Default)]
pub struct LinearSystem {
    columns: BTreeMap<u64, usize>,
    /// The term of each column; `None`: free.
    terms: Vec<Option<u64>>,
    rows: Vec<Row>,
    bytes: usize,
}

/// What became of an equation.
#[derive(Debug, PartialEq, Eq)]
pub enum Added {
    /// It says nothing new.
    Known,
    /// It is kept, and these are solved.
    New(Solved),
    /// It has more new terms than there is room for.
    Full,
}

impl LinearSystem {
    /// Equations kept.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Their bytes, factors among them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// An equation of terms, each with a factor that is not zero.
    pub fn add(&mut self, terms: &[(u64, u8)], bytes: Vec<u8>) -> Added {
        let Some(columns) = self.columns_of(terms) else { return Added::Full };
        let mut factors = vec![0; columns.iter().max().map_or(0, |last| last + 1)];
        for (column, (_, factor)) in columns.into_iter().zip(terms) {
            factors[column] = *factor;
        }
        let mut row = Row { pivot: 0, factors, bytes };
        for other in &self.rows {
            row.eliminate(other.pivot, (&other.factors, &other.bytes));
        }
        let Some(pivot) = self.newest(&row) else { return Added::Known };
        let end = self.rows.len();
        self.put(row, pivot, end);
        Added::New(self.take_solved())
    }

    /// A column for each term.
    fn columns_of(&mut self, terms: &[(u64, u8)]) -> Option<Vec<usize>> {
        let new = terms.iter().filter(|(term, _)| !self.columns.contains_key(term)).count();
        if self.columns.len() + new > UNKNOWNS_MAX {
            self.free_columns();
        }
        if self.columns.len() + new > UNKNOWNS_MAX {
            return None;
        }
        Some(terms.iter().map(|(term, _)| self.column(*term)).collect())
    }

    fn column(&mut self, term: u64) -> usize {
        if let Some(column) = self.columns.get(&term) {
            return *column;
        }
        let free = self.terms.iter().position(Option::is_none);
        let column = free.unwrap_or(self.terms.len());
        match free {
            Some(free) => self.terms[free] = Some(term),
            None => self.terms.push(Some(term)),
        }
        self.columns.insert(term, column);
        column
    }

    /// Those of terms that are in no equation any more.
    fn free_columns(&mut self) {
        let used: BTreeSet<usize> = self.rows.iter().flat_map(Row::columns).collect();
        self.columns.retain(|_, column| used.contains(column));
        for (column, term) in self.terms.iter_mut().enumerate() {
            *term = term.filter(|_| used.contains(&column));
        }
    }

    /// The column of its newest term: older ones are requested first, and it follows.
    fn newest(&self, row: &Row) -> Option<usize> {
        self.columns.values().rev().copied().find(|column| row.factor(*column) != 0)
    }

    /// Puts an equation to the others, at this place, with this pivot.
    fn put(&mut self, mut row: Row, pivot: usize, at: usize) {
        row.pivot_on(pivot);
        for other in &mut self.rows {
            other.eliminate(pivot, (&row.factors, &row.bytes));
        }
        self.rows.insert(at.min(self.rows.len()), row);
    }

    /// Takes out what is solved.
    fn take_solved(&mut self) -> Solved {
        let rows = core::mem::take(&mut self.rows);
        let (solved, left): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(Row::is_solved);
        self.rows = left;
        let found = solved.into_iter().filter_map(|row| {
            let term = self.terms.get_mut(row.pivot)?.take()?;
            self.columns.remove(&term);
            Some((term, row.bytes))
        });
        let found = found.collect();
        self.count();
        found
    }

    fn count(&mut self) {
        self.bytes = self.rows.iter().map(Row::size).sum();
    }

    /// A term came by another way. Gives what that solves.
    pub fn on_known(&mut self, term: u64, bytes: &[u8]) -> Solved {
        let Some(column) = self.columns.remove(&term) else { return Vec::new() };
        self.terms[column] = None;
        let mut known = vec![0; column + 1];
        known[column] = 1;
        for row in &mut self.rows {
            row.eliminate(column, (&known, bytes));
        }
        // Whose pivot it was has to find another.
        if let Some(at) = self.rows.iter().position(|row| row.pivot == column) {
            let row = self.rows.remove(at);
            if let Some(pivot) = self.newest(&row) {
                self.put(row, pivot, at);
            }
        }
        self.take_solved()
    }

    /// Forgets all equations with terms before this one. Gives how many.
    pub fn forget_before(&mut self, first: u64) -> usize {
        let old: Vec<usize> = self.columns.range(..first).map(|(_, column)| *column).collect();
        if old.is_empty() {
            return 0;
        }
        let before = self.rows.len();
        self.rows.retain(|row| old.iter().all(|column| row.factor(*column) == 0));
        self.columns = self.columns.split_off(&first);
        old.into_iter().for_each(|column| self.terms[column] = None);
        self.count();
        before - self.rows.len()
    }

    /// The oldest is dropped, and all else that is known stays; false when there is none.
    pub fn drop_oldest(&mut self) -> bool {
        let any = !self.rows.is_empty();
        if any {
            self.rows.remove(0);
            self.count();
        }
        any
    }

    /// Terms that nothing is known of but equations.
    pub fn unknowns(&self) -> BTreeSet<u64> {
        let mut used = vec![false; self.terms.len()];
        self.rows.iter().flat_map(Row::columns).for_each(|column| used[column] = true);
        let terms = self.terms.iter().zip(used).filter(|(_, used)| *used);
        terms.filter_map(|(term, _)| *term).collect()
    }

    /// Terms that follow when all others are here: one for each equation.
    pub fn pivots(&self) -> BTreeSet<u64> {
        self.rows.iter().filter_map(|row| self.terms[row.pivot]).collect()
    }

    /// Terms that follow when no others come than these.
    pub fn pivots_from(&self, given: &BTreeSet<u64>) -> BTreeSet<u64> {
        let is_given = |column: usize| self.terms[column].is_some_and(|term| given.contains(&term));
        let of = self.rows.iter().filter(|row| row.columns().all(is_given));
        of.filter_map(|row| self.terms[row.pivot]).collect()
    }

    /// Makes this term, which is no pivot, one in the place of the pivot of an equation with it that `cost` is least
    /// of; nothing when `cost` says so of each.
    pub fn swap_in(&mut self, term: u64, cost: impl Fn(u64) -> Option<u32>) -> bool {
        let Some(column) = self.columns.get(&term).copied() else { return false };
        let with = self.rows.iter().enumerate().filter(|(_, row)| row.factor(column) != 0);
        let costs = with.filter_map(|(at, row)| Some((cost(self.terms[row.pivot]?)?, at)));
        let Some((_, at)) = costs.min() else { return false };
        let row = self.rows.remove(at);
        self.put(row, column, at);
        self.count();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn columns_of_solved_terms_are_reused() {
        let mut system = LinearSystem::default();
        for n in 0..3 * UNKNOWNS_MAX as u64 {
            assert_eq!(system.add(&[(n, 1), (n + 1, 1)], vec![1]), Added::New(vec![]));
            assert_eq!(system.on_known(n, &[1]), [(n + 1, vec![0])]);
        }
        assert!(system.terms.len() <= 2 && system.columns.is_empty() && system.bytes == 0);
    }

    #[test]
    fn the_number_of_unknowns_is_bounded() {
        let mut system = LinearSystem::default();
        let most = UNKNOWNS_MAX as u64 / 2;
        (0..most).for_each(|n| _ = system.add(&[(2 * n, 1), (2 * n + 1, 1)], vec![1]));
        assert_eq!(system.unknowns().len(), UNKNOWNS_MAX);
        assert_eq!(system.add(&[(0, 3), (UNKNOWNS_MAX as u64, 1)], vec![1]), Added::Full);
        assert_eq!(system.add(&[(0, 3), (2, 1)], vec![1]), Added::New(vec![]));
        // What gave way frees its terms.
        assert!((0..8).all(|_| system.drop_oldest()));
        assert_eq!(system.add(&[(0, 3), (UNKNOWNS_MAX as u64, 1)], vec![1]), Added::New(vec![]));
    }

    #[test]
    fn terms_before_a_horizon_are_dropped_with_their_equations() {
        let mut system = LinearSystem::default();
        system.add(&[(1, 1), (8, 1)], vec![1]);
        system.add(&[(5, 1), (9, 1)], vec![1]);
        assert_eq!((system.forget_before(1), system.forget_before(5)), (0, 1));
        assert_eq!(system.unknowns(), BTreeSet::from([5, 9]));
    }

    #[test]
    fn a_term_replaces_the_cheapest_pivot() {
        let mut system = LinearSystem::default();
        system.add(&[(1, 1), (8, 1)], vec![1]);
        system.add(&[(1, 1), (9, 1)], vec![2]);
        assert_eq!(system.pivots(), BTreeSet::from([8, 9]));
        assert!(!system.swap_in(1, |_| None) && !system.swap_in(7, |_| Some(0)));
        assert!(system.swap_in(1, |pivot| Some(u32::from(pivot == 8))));
        assert_eq!(system.pivots(), BTreeSet::from([1, 8]));
        assert_eq!(system.on_known(9, &[5]), [(8, vec![6]), (1, vec![7])]);
    }
}
