//! A block with requested symbols: which parity is still unsent, and what is to be sent.

use crate::sender::{
    in_flight::BlockInFlight,
    peer_repair::PeerRepair,
    piece::{Part, Piece, Purpose},
};
use alloc::collections::BTreeSet;
use core::ops::Range;

/// Of a block so much is repaired by name at most, one part of so many: what ten receivers that lose
/// 0.3 % each lack together. Beyond that one parity symbol serves several.
const NAMED_PART: u16 = 32;

/// What receivers lack of one block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::sender) struct BlockDemand {
    /// Symbols that the neediest receiver lacks.
    pub(in crate::sender) need: u16,
    /// Symbols to send so that so many arrive; less than `need` counts as `need`.
    pub(in crate::sender) allowance: u16,
    /// Symbols named, by any receiver.
    pub(in crate::sender) named: BTreeSet<u16>,
    /// Someone told a count without names.
    pub(in crate::sender) unnamed: bool,
    /// The symbols that are named are to be sent, rather than parity in their place: nobody has to
    /// read a block back for them.
    pub(in crate::sender) explicitly: bool,
}

impl BlockDemand {
    /// One receiver lacks just these.
    pub(in crate::sender) fn named(symbols: Range<u16>) -> Self {
        let named: BTreeSet<u16> = symbols.collect();
        Self { need: named.len() as u16, named, ..Self::default() }
    }

    /// As many symbols more as are worth their time.
    pub(in crate::sender) fn allow(&mut self, more: impl Fn(u16) -> u16) {
        self.allowance = self.need.saturating_add(more(self.need));
    }

    /// This is on its way to who asks.
    pub(in crate::sender) fn deduct(&mut self, in_flight_block: &BlockInFlight) {
        let before = self.named.len();
        self.named.retain(|symbol| !in_flight_block.sources.contains(symbol));
        let symbols = in_flight_block.parity.saturating_add((before - self.named.len()) as u16);
        self.need = self.need.saturating_sub(symbols);
        self.allowance = self.allowance.saturating_sub(symbols);
    }

    /// Another receiver's demand: one parity symbol serves both, so the greater need counts.
    pub(in crate::sender) fn merge(&mut self, other: Self) {
        self.need = self.need.max(other.need);
        self.allowance = self.allowance.max(other.allowance);
        self.named.extend(other.named);
        self.unnamed |= other.unnamed;
        self.explicitly &= other.explicitly;
    }

    /// Whether it is to be served by the source symbols that it names.
    fn is_for_names(&self, source: u16) -> bool {
        self.explicitly
            && !self.unnamed
            && self.named.last().is_some_and(|last| *last < source)
            && usize::from(self.need) == self.named.len()
            && self.allowance <= self.need
    }
}

/// A block's repair state.
#[derive(Debug, Clone)]
pub(in crate::sender) struct TransmitBlock {
    /// First parity number never sent in this block.
    parity_next: u16,
    /// Fresh parity to be sent.
    parity_pending: u16,
    /// Symbols to be sent by name.
    named: BTreeSet<u16>,
    /// So many were to be sent by name though there was parity.
    rather_named: u16,
    peer_repair: PeerRepair,
}

impl TransmitBlock {
    /// A block whose pass brought `proactive` parity symbols.
    pub(in crate::sender) fn new(proactive: u16) -> Self {
        Self {
            parity_next: proactive,
            parity_pending: 0,
            named: BTreeSet::new(),
            rather_named: 0,
            peer_repair: PeerRepair::default(),
        }
    }

    pub(in crate::sender) fn has_pending(&self) -> bool {
        self.parity_pending > 0 || !self.named.is_empty()
    }

    /// RFC 5740 5.4.2: fresh parity as long as it suffices for the neediest receiver, then what was
    /// named. Parity still pending serves the new demand, too: the greater counts, never the sum.
    pub(in crate::sender) fn demand(&mut self, wanted: &BlockDemand, source: u16, parity: u16) {
        self.peer_repair.on_demand();
        if self.parity_pending == 0 && self.takes_names(wanted, source) {
            return;
        }
        let fresh = parity.saturating_sub(self.parity_next);
        if fresh >= wanted.need {
            let sent = wanted.allowance.max(wanted.need).min(fresh);
            self.parity_pending = self.parity_pending.max(sent);
            return;
        }
        self.parity_pending = fresh;
        let first_fresh = source + self.parity_next;
        self.named.extend(wanted.named.iter().filter(|symbol| **symbol < first_fresh));
        if wanted.unnamed {
            self.named.extend(0..source);
        }
    }

    /// Takes what is requested by name to be sent so, as far as that is few of the block.
    fn takes_names(&mut self, wanted: &BlockDemand, source: u16) -> bool {
        let more = wanted.named.difference(&self.named).count() as u16;
        let total = self.rather_named.saturating_add(more);
        let takes = wanted.is_for_names(source) && total <= source / NAMED_PART;
        if takes {
            self.rather_named = total;
            self.named.extend(&wanted.named);
        }
        takes
    }

    /// Another node sent a symbol of it, or a sum: that need not be sent from here, unless it was not believed.
    pub(in crate::sender) fn on_repaired(&mut self, symbol: Option<u16>) -> bool {
        if !self.peer_repair.on_repaired() {
            return false;
        }
        if symbol.is_none_or(|symbol| !self.named.remove(&symbol)) {
            self.parity_pending = self.parity_pending.saturating_sub(1);
        }
        true
    }

    /// The named symbols once more, whatever parity is left.
    pub(in crate::sender) fn repeat(&mut self, wanted: &BlockDemand) {
        self.named.extend(&wanted.named);
    }

    /// How many named symbols follow one another from `symbol`, itself included.
    fn run_from(&self, symbol: u16) -> u16 {
        let following = self.named.iter().zip(symbol + 1..);
        1 + following.take_while(|(named, next)| *named == next).count() as u16
    }

    /// Takes the lowest symbol to be sent.
    pub(in crate::sender) fn pop(&mut self, block: u32, source: u16) -> Option<Piece> {
        if let Some(symbol) = self.named.pop_first() {
            let part = match symbol.checked_sub(source) {
                None => Part::Source { block, symbol },
                Some(number) => Part::Parity { block, number, ahead: self.run_from(symbol) },
            };
            return Some(Piece { part, purpose: Purpose::Explicit });
        }
        let ahead = self.parity_pending;
        self.parity_pending = ahead.checked_sub(1)?;
        let number = self.parity_next;
        self.parity_next += 1;
        Some(Piece { part: Part::Parity { block, number, ahead }, purpose: Purpose::Parity })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn drain(block: &mut TransmitBlock) -> Vec<Part> {
        core::iter::from_fn(|| block.pop(0, 10).map(|piece| piece.part)).collect()
    }

    #[test]
    fn fresh_parity_serves_two_receivers_with_different_losses_by_the_greater_need() {
        let mut block = TransmitBlock::new(1);
        let mut wanted = BlockDemand::named(0..3);
        wanted.merge(BlockDemand::named(5..7));
        block.demand(&wanted, 10, 5);
        block.demand(&BlockDemand::named(7..9), 10, 5);
        let numbers: Vec<Part> =
            (0..3).map(|i| Part::Parity { block: 0, number: 1 + i, ahead: 3 - i }).collect();
        assert_eq!(drain(&mut block), numbers);
    }

    #[test]
    fn expected_losses_are_covered_in_advance_while_unsent_parity_is_left() {
        let mut wanted = BlockDemand::named(0..7);
        wanted.allow(|need| need - 4);
        let mut block = TransmitBlock::new(0);
        block.demand(&wanted, 10, 20);
        assert_eq!(drain(&mut block).len(), 10);
        let mut wanted = BlockDemand::named(0..7);
        wanted.allow(|_| u16::MAX);
        block.demand(&wanted, 10, 20);
        assert_eq!(drain(&mut block).len(), 10, "at most what is left; no symbol by name");
    }

    #[test]
    fn symbols_in_flight_are_not_sent_again() {
        let mut wanted = BlockDemand::named(0..7);
        wanted.allow(|_| 2);
        wanted.deduct(&BlockInFlight { parity: 4, ..BlockInFlight::default() });
        let mut block = TransmitBlock::new(4);
        block.demand(&wanted, 10, 20);
        assert_eq!(drain(&mut block).len(), 5);
        wanted.deduct(&BlockInFlight { parity: 9, ..BlockInFlight::default() });
        block.demand(&wanted, 10, 20);
        assert!(!block.has_pending());
    }

    #[test]
    fn when_unsent_parity_is_not_enough_the_named_symbols_are_sent_too() {
        let mut block = TransmitBlock::new(0);
        block.demand(&BlockDemand::named(10..12), 10, 3);
        assert_eq!(drain(&mut block).len(), 2);
        block.demand(&BlockDemand::named(8..12), 10, 3);
        assert_eq!(
            drain(&mut block),
            [
                Part::Source { block: 0, symbol: 8 },
                Part::Source { block: 0, symbol: 9 },
                Part::Parity { block: 0, number: 0, ahead: 2 },
                Part::Parity { block: 0, number: 1, ahead: 1 },
                Part::Parity { block: 0, number: 2, ahead: 1 },
            ]
        );
    }

    fn explicitly(symbols: Range<u16>) -> BlockDemand {
        BlockDemand { explicitly: true, ..BlockDemand::named(symbols) }
    }

    #[test]
    fn a_few_symbols_are_repaired_explicitly_and_the_others_by_parity() {
        let mut block = TransmitBlock::new(0);
        block.demand(&explicitly(7..8), 64, 20);
        block.demand(&explicitly(9..10), 64, 20);
        let named = |symbol| Part::Source { block: 0, symbol };
        assert_eq!(drain(&mut block), [named(7), named(9)]);
        block.demand(&explicitly(11..12), 64, 20);
        assert_eq!(drain(&mut block), [Part::Parity { block: 0, number: 0, ahead: 1 }]);
    }

    #[test]
    fn named_symbols_are_not_sent_explicitly_if_parity_or_a_count_is_requested() {
        let mut counted = explicitly(7..8);
        counted.merge(BlockDemand::named(64..66));
        let mut allowed = explicitly(7..8);
        allowed.allow(|_| 1);
        for (wanted, parity) in [(counted, 2), (allowed, 2), (explicitly(64..65), 1)] {
            let mut block = TransmitBlock::new(0);
            block.demand(&wanted, 64, 20);
            let sent = drain(&mut block);
            assert!(sent.len() == parity && matches!(sent[0], Part::Parity { .. }), "{sent:?}");
        }
    }

    #[test]
    fn another_symbol_in_flight_does_not_serve_an_explicit_request() {
        let mut wanted = explicitly(7..9);
        wanted.deduct(&BlockInFlight { parity: 0, sources: [3, 7].into() });
        assert_eq!((wanted.need, wanted.named.len()), (1, 1));
    }

    #[test]
    fn a_count_without_names_falls_back_to_the_whole_block() {
        let mut block = TransmitBlock::new(0);
        block.demand(&BlockDemand { need: 4, unnamed: true, ..Default::default() }, 10, 3);
        assert_eq!(drain(&mut block).len(), 13);
    }
}
