//! A source block of which some symbols have arrived.
//!
//! Source symbols go to storage at once; this file only knows which of them are there. Parity
//! symbols stay in memory until the block can be decoded.

use alloc::{boxed::Box, collections::BTreeMap, vec, vec::Vec};
use core::ops::Range;

/// What bookkeeping of one block or one parity symbol costs beside its bytes, roughly.
const OVERHEAD: usize = 64;

/// A sum of the block's symbols, made by somebody who held some of them.
#[derive(Debug)]
pub(crate) struct Equation {
    /// The factor of each source symbol.
    pub(crate) row: Vec<u8>,
    pub(crate) bytes: Box<[u8]>,
}

impl Equation {
    fn cost(&self) -> usize {
        ReceiveBlock::cost_of_equation(self.row.len() as u16, self.bytes.len())
    }
}

/// A partly received block.
#[derive(Debug)]
pub(crate) struct ReceiveBlock {
    len: u16,
    sources: u16,
    /// One bit for each source symbol.
    have: Vec<u64>,
    parity: BTreeMap<u16, Box<[u8]>>,
    /// Of the missing source symbols each says something that parity and the others do not.
    equations: Vec<Equation>,
    /// One more than the highest parity number seen: fresh parity begins there.
    parity_seen: u16,
}

impl ReceiveBlock {
    /// A block of `len` source symbols, of which none is here.
    pub(crate) fn new(len: u16) -> Self {
        let have = vec![0; usize::from(len).div_ceil(64)];
        let (parity, equations) = (BTreeMap::new(), Vec::new());
        Self { len, sources: 0, have, parity, equations, parity_seen: 0 }
    }
    /// Bytes that a new block of `len` symbols takes.
    pub(crate) fn cost_of(len: u16) -> usize {
        OVERHEAD + usize::from(len).div_ceil(64) * 8
    }
    /// Bytes that a parity symbol takes.
    pub(crate) fn cost_of_parity(bytes: usize) -> usize {
        OVERHEAD + bytes
    }
    /// Bytes that a sum over `len` source symbols takes.
    pub(crate) fn cost_of_equation(len: u16, bytes: usize) -> usize {
        OVERHEAD + usize::from(len) + bytes
    }
    /// Bytes that it takes now.
    pub(crate) fn cost(&self) -> usize {
        Self::cost_of(self.len) + self.parity_cost()
    }
    /// Bytes of parity and sums.
    pub(crate) fn parity_cost(&self) -> usize {
        let parity: usize =
            self.parity.values().map(|bytes| Self::cost_of_parity(bytes.len())).sum();
        parity + self.equations.iter().map(Equation::cost).sum::<usize>()
    }
    /// Source symbols of the block.
    pub(crate) fn len(&self) -> u16 {
        self.len
    }
    /// Source symbols that are here.
    pub(crate) fn sources(&self) -> u16 {
        self.sources
    }
    pub(crate) fn has_source(&self, symbol: u16) -> bool {
        let word = self.have.get(usize::from(symbol / 64));
        word.is_some_and(|word| word >> (symbol % 64) & 1 == 1)
    }
    /// Notes a source symbol that is now in storage.
    pub(crate) fn set_source(&mut self, symbol: u16) {
        if symbol < self.len && !self.has_source(symbol) {
            self.have[usize::from(symbol / 64)] |= 1 << (symbol % 64);
            self.sources += 1;
        }
    }
    /// Whether none of these source symbols is here, nor beyond the block.
    pub(crate) fn lacks_all(&self, symbols: Range<u16>) -> bool {
        let here = |(word, mask): (usize, u64)| self.have[word] & mask != 0;
        symbols.end <= self.len && !masks(symbols).any(here)
    }
    /// Notes source symbols that are now in storage, of which it lacked all.
    pub(crate) fn set_sources(&mut self, symbols: Range<u16>) {
        self.sources += symbols.end - symbols.start;
        masks(symbols).for_each(|(word, mask)| self.have[word] |= mask);
    }
    /// A source symbol in storage is not to be relied on.
    pub(crate) fn clear_source(&mut self, symbol: u16) {
        if self.has_source(symbol) {
            self.have[usize::from(symbol / 64)] &= !(1 << (symbol % 64));
            self.sources -= 1;
        }
    }
    pub(crate) fn has_parity(&self, number: u16) -> bool {
        self.parity.contains_key(&number)
    }
    /// Keeps parity symbol `number`.
    pub(crate) fn add_parity(&mut self, number: u16, bytes: &[u8]) {
        self.parity.insert(number, bytes.into());
        self.parity_seen = self.parity_seen.max(number.saturating_add(1));
    }
    /// Keeps a sum.
    pub(crate) fn add_equation(&mut self, equation: Equation) {
        self.equations.push(equation);
    }
    pub(crate) fn equations(&self) -> &[Equation] {
        &self.equations
    }
    /// Keeps those sums alone that `keep` says, in order; returns the bytes freed.
    pub(crate) fn retain_equations(&mut self, keep: &[bool]) -> usize {
        let before = self.parity_cost();
        let mut keep = keep.iter();
        self.equations.retain(|_| keep.next().copied().unwrap_or(false));
        before - self.parity_cost()
    }
    /// Forgets all parity and sums; returns the bytes freed.
    pub(crate) fn drop_parity(&mut self) -> usize {
        let freed = self.parity_cost();
        self.parity.clear();
        self.equations.clear();
        freed
    }
    pub(crate) fn parity(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.parity.iter().map(|(&number, bytes)| (number, &**bytes))
    }
    pub(crate) fn parity_count(&self) -> u16 {
        self.parity.len() as u16
    }
    /// One more than the highest parity number seen.
    pub(crate) fn parity_seen(&self) -> u16 {
        self.parity_seen
    }
    /// Symbols, of any kind, still needed to have the block.
    pub(crate) fn erasures(&self) -> u16 {
        let others = self.parity_count() + self.equations.len() as u16;
        self.len.saturating_sub(self.sources).saturating_sub(others)
    }
    pub(crate) fn missing_sources(&self) -> impl DoubleEndedIterator<Item = u16> + '_ {
        (0..self.len).filter(|&symbol| !self.has_source(symbol))
    }
    /// Whether source symbols 0 to `symbol` are all here.
    pub(crate) fn has_up_to(&self, symbol: u16) -> bool {
        (0..self.len.min(symbol.saturating_add(1))).all(|symbol| self.has_source(symbol))
    }
}

/// Bits of a range, by words of 64.
fn masks(bits: Range<u16>) -> impl Iterator<Item = (usize, u64)> {
    let (first, end) = (usize::from(bits.start), usize::from(bits.end));
    (first / 64..end.div_ceil(64)).map(move |word| {
        let low = first.saturating_sub(word * 64);
        let high = (end - word * 64).min(64);
        (word, u64::MAX >> (64 - high) & u64::MAX << low)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_symbol_of_either_kind_takes_one_erasure_away() {
        let mut block = ReceiveBlock::new(100);
        (0..97).for_each(|symbol| block.set_source(symbol));
        assert_eq!(block.erasures(), 3);
        block.add_parity(4, b"parity");
        assert_eq!((block.erasures(), block.parity_seen()), (2, 5));
        assert_eq!(block.missing_sources().collect::<Vec<_>>(), [97, 98, 99]);
    }

    #[test]
    fn a_symbol_counts_once_and_one_beyond_the_block_not_at_all() {
        let mut block = ReceiveBlock::new(10);
        [3, 3, 10, 64, 6000].into_iter().for_each(|symbol| block.set_source(symbol));
        assert_eq!((block.sources(), block.has_source(3), block.has_source(64)), (1, true, false));
    }

    #[test]
    fn a_run_of_symbols_is_noted_as_each_of_them_would_be() {
        for (first, end) in [(0, 64), (5, 9), (60, 70), (64, 128), (0, 200), (127, 129), (3, 3)] {
            let (mut run, mut each) = (ReceiveBlock::new(200), ReceiveBlock::new(200));
            assert!(run.lacks_all(first..end));
            run.set_sources(first..end);
            (first..end).for_each(|symbol| each.set_source(symbol));
            assert_eq!((&run.have, run.sources), (&each.have, each.sources), "{first}..{end}");
            assert_eq!(run.lacks_all(first..end), first == end);
        }
        assert!(!ReceiveBlock::new(200).lacks_all(190..201), "beyond the block");
    }

    #[test]
    fn dropped_parity_is_an_erasure_again_and_frees_its_bytes() {
        let mut block = ReceiveBlock::new(4);
        let empty = block.cost();
        block.add_parity(0, &[0; 1000]);
        assert_eq!(block.cost() - block.drop_parity(), empty);
        assert_eq!(block.erasures(), 4);
    }
}
