//! The blocks of one object. Complete blocks are kept as runs, partial blocks one by one, missing
//! blocks not at all.
//!
//! An object may have millions of blocks. Memory grows only with the number of partial blocks.

use crate::receiver::{
    block::{Equation, ReceiveBlock},
    runs::RunSet,
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::ops::Range;

/// State of all blocks of an object.
#[derive(Debug)]
pub(crate) struct BlockSet {
    count: u32,
    complete: RunSet,
    partial: BTreeMap<u32, ReceiveBlock>,
    /// Partial blocks that hold parity or sums, to find the highest quickly.
    with_parity: BTreeSet<u32>,
    bytes: usize,
}

/// What a block, or a run of them, still needs.
#[derive(Debug)]
pub(crate) enum BlockNeed<'a> {
    /// Nothing of blocks `first..=last` is here.
    Absent { first: u32, last: u32 },
    /// Some of this block is.
    Partial { block: u32, state: &'a ReceiveBlock },
}

impl BlockSet {
    /// `count` blocks, none of them here.
    pub(crate) fn new(count: u32) -> Self {
        Self {
            count,
            complete: RunSet::default(),
            partial: BTreeMap::new(),
            with_parity: BTreeSet::new(),
            bytes: 0,
        }
    }
    pub(crate) fn is_complete(&self, block: u32) -> bool {
        self.complete.contains(u64::from(block))
    }
    /// The lowest block that is not complete; `None` when all are.
    pub(crate) fn first_incomplete(&self) -> Option<u32> {
        let block = self.complete.first_gap(0);
        (block < u64::from(self.count)).then_some(block as u32)
    }
    pub(crate) fn partial(&self, block: u32) -> Option<&ReceiveBlock> {
        self.partial.get(&block)
    }
    /// Bytes of parity and bookkeeping.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
    /// Notes a source symbol of `block` (of `len`) that is now in storage.
    pub(crate) fn set_source(&mut self, block: u32, len: u16, symbol: u16) -> &ReceiveBlock {
        let state = begin(&mut self.partial, &mut self.bytes, block, len);
        state.set_source(symbol);
        state
    }
    /// Notes source symbols of `block`, which has begun and lacked them all.
    pub(crate) fn set_sources(&mut self, block: u32, symbols: Range<u16>) -> u16 {
        let Some(state) = self.partial.get_mut(&block) else { return 0 };
        state.set_sources(symbols);
        state.erasures()
    }
    /// Keeps a parity symbol of `block` (of `len`).
    pub(crate) fn add_parity(
        &mut self,
        block: u32,
        len: u16,
        number: u16,
        bytes: &[u8],
    ) -> &ReceiveBlock {
        let state = begin(&mut self.partial, &mut self.bytes, block, len);
        state.add_parity(number, bytes);
        self.bytes += ReceiveBlock::cost_of_parity(bytes.len());
        self.with_parity.insert(block);
        state
    }
    /// Keeps a sum of symbols of `block` (of `len`).
    pub(crate) fn add_equation(&mut self, block: u32, len: u16, equation: Equation) {
        let cost = ReceiveBlock::cost_of_equation(len, equation.bytes.len());
        let state = begin(&mut self.partial, &mut self.bytes, block, len);
        state.add_equation(equation);
        self.bytes += cost;
        self.with_parity.insert(block);
    }
    /// Keeps those sums alone of `block` that `keep` says.
    pub(crate) fn retain_equations(&mut self, block: u32, keep: &[bool]) {
        let Some(state) = self.partial.get_mut(&block) else { return };
        self.bytes -= state.retain_equations(keep);
        if state.parity_cost() == 0 {
            self.with_parity.remove(&block);
        }
    }
    /// All of `block` is in storage.
    pub(crate) fn finish(&mut self, block: u32) {
        if let Some(state) = self.partial.remove(&block) {
            self.bytes -= state.cost();
        }
        self.with_parity.remove(&block);
        self.complete.insert(u64::from(block), u64::from(block) + 1);
    }
    /// All of these blocks is in storage.
    pub(crate) fn finish_all(&mut self, blocks: Range<u32>) {
        self.forget(blocks.clone());
        self.complete.insert(u64::from(blocks.start), u64::from(blocks.end));
    }
    /// Nothing of these blocks is.
    pub(crate) fn lose_all(&mut self, blocks: Range<u32>) {
        self.forget(blocks.clone());
        self.complete.remove(u64::from(blocks.start), u64::from(blocks.end));
    }
    /// Some source symbols of `block` (of `len`) are missing again; its parity is forgotten.
    pub(crate) fn lose(&mut self, block: u32, len: u16, symbols: Range<u16>) {
        if self.is_complete(block) {
            self.complete.remove(u64::from(block), u64::from(block) + 1);
            let state = begin(&mut self.partial, &mut self.bytes, block, len);
            (0..len).for_each(|symbol| state.set_source(symbol));
        }
        if let Some(state) = self.partial.get_mut(&block) {
            symbols.for_each(|symbol| state.clear_source(symbol));
        }
        self.drop_parity(block);
    }
    fn forget(&mut self, blocks: Range<u32>) {
        let begun: Vec<u32> = self.partials(blocks).map(|(block, _)| block).collect();
        for block in begun {
            self.with_parity.remove(&block);
            if let Some(state) = self.partial.remove(&block) {
                self.bytes -= state.cost();
            }
        }
    }
    /// Those of `blocks` that have begun and are not complete.
    pub(crate) fn partials(
        &self,
        blocks: Range<u32>,
    ) -> impl Iterator<Item = (u32, &ReceiveBlock)> {
        let blocks = blocks.start..blocks.end.max(blocks.start);
        self.partial.range(blocks).map(|(&block, state)| (block, state))
    }
    /// Runs (first, end) of complete blocks, in order.
    pub(crate) fn complete_runs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.complete.iter().map(|(first, end)| (first as u32, end as u32))
    }
    /// Runs (first, end) of `blocks` that are not complete, in order.
    pub(crate) fn incomplete_runs(&self, blocks: Range<u32>) -> impl Iterator<Item = (u32, u32)> {
        let gaps = self.complete.gaps(u64::from(blocks.start), u64::from(blocks.end));
        gaps.map(|(first, end)| (first as u32, end as u32))
    }
    /// The highest block that holds parity.
    pub(crate) fn highest_with_parity(&self) -> Option<u32> {
        self.with_parity.last().copied()
    }
    /// Forgets the parity of `block`, and the block if nothing else of it is here.
    pub(crate) fn drop_parity(&mut self, block: u32) {
        self.with_parity.remove(&block);
        let Some(state) = self.partial.get_mut(&block) else { return };
        self.bytes -= state.drop_parity();
        if state.sources() == 0 {
            self.bytes -= state.cost();
            self.partial.remove(&block);
        }
    }
    /// What blocks below `end` still need, in order; O(1) steps for each need.
    pub(crate) fn needs(&self, end: u64) -> impl Iterator<Item = BlockNeed<'_>> {
        let end = end.min(u64::from(self.count));
        let mut at = 0;
        core::iter::from_fn(move || {
            at = self.complete.first_gap(at);
            if at >= end {
                return None;
            }
            let block = at as u32;
            if let Some(state) = self.partial.get(&block) {
                at += 1;
                return Some(BlockNeed::Partial { block, state });
            }
            let begun = self.partial.range(block..).next().map(|(&b, _)| u64::from(b));
            let done = self.complete.first_member(at);
            at = begun.unwrap_or(end).min(done.unwrap_or(end)).min(end);
            Some(BlockNeed::Absent { first: block, last: (at - 1) as u32 })
        })
    }
}

fn begin<'a>(
    partial: &'a mut BTreeMap<u32, ReceiveBlock>,
    bytes: &mut usize,
    block: u32,
    len: u16,
) -> &'a mut ReceiveBlock {
    partial.entry(block).or_insert_with(|| {
        *bytes += ReceiveBlock::cost_of(len);
        ReceiveBlock::new(len)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec::Vec};
    use std::string::String;

    fn shown(set: &BlockSet, end: u64) -> Vec<String> {
        let show = |need| match need {
            BlockNeed::Absent { first, last } => format!("{first}-{last}"),
            BlockNeed::Partial { block, state } => format!("{block}:{}", state.erasures()),
        };
        set.needs(end).map(show).collect()
    }

    #[test]
    fn a_fresh_object_of_millions_of_blocks_is_one_need_and_takes_no_memory() {
        let set = BlockSet::new(5_000_000);
        assert_eq!((shown(&set, u64::MAX), set.bytes()), (["0-4999999".into()].into(), 0));
    }

    #[test]
    fn needs_are_absent_runs_and_partial_blocks_before_the_end() {
        let mut set = BlockSet::new(10);
        [0, 1, 5].into_iter().for_each(|block| set.finish(block));
        set.set_source(3, 4, 0);
        set.add_parity(7, 4, 0, b"parity");
        assert_eq!(shown(&set, 9), ["2-2", "3:3", "4-4", "6-6", "7:3", "8-8"]);
        assert_eq!(shown(&set, 3), ["2-2"]);
    }

    #[test]
    fn completed_blocks_free_their_memory() {
        let mut set = BlockSet::new(2);
        set.set_source(0, 100, 1);
        set.add_parity(0, 100, 3, &[0; 500]);
        set.finish(0);
        assert_eq!((set.bytes(), set.first_incomplete()), (0, Some(1)));
        set.finish(1);
        assert_eq!(set.first_incomplete(), None);
    }

    #[test]
    fn a_run_of_blocks_is_completed_or_lost_at_once_with_its_partial_blocks() {
        let mut set = BlockSet::new(1_000_000);
        set.add_parity(7, 4, 0, b"parity");
        set.finish_all(5..900_000);
        assert_eq!(
            (shown(&set, u64::MAX), set.bytes()),
            (["0-4".into(), "900000-999999".into()].into(), 0)
        );
        set.lose_all(10..20);
        assert_eq!(shown(&set, 100), ["0-4", "10-19"]);
    }

    #[test]
    fn a_complete_block_that_loses_symbols_is_begun_again_without_its_parity() {
        let mut set = BlockSet::new(2);
        set.finish(0);
        set.lose(0, 4, 1..3);
        set.set_source(1, 4, 0);
        set.add_parity(1, 4, 0, b"p");
        set.lose(1, 4, 0..1);
        assert_eq!(shown(&set, 2), ["0:2", "1-1"]);
        assert_eq!(set.bytes(), ReceiveBlock::cost_of(4));
    }

    #[test]
    fn a_block_that_has_only_parity_is_forgotten_with_it() {
        let mut set = BlockSet::new(3);
        set.add_parity(1, 4, 0, b"p");
        set.set_source(2, 4, 0);
        set.add_parity(2, 4, 0, b"p");
        assert_eq!(set.highest_with_parity(), Some(2));
        set.drop_parity(2);
        set.drop_parity(1);
        assert_eq!((set.partial(1).is_none(), set.partial(2).is_some()), (true, true));
        assert_eq!(set.bytes(), ReceiveBlock::cost_of(4));
    }
}
