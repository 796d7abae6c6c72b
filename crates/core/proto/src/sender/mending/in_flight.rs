//! Repairs that are still in flight. A request that was sent before they arrived must not trigger
//! them again.
//!
//! Every request echoes the sender's clock as its receiver last knew it. The receiver cannot have
//! counted anything that was sent later. Where all receivers are known, this replaces the
//! aggregation of requests and the hold-off: each request is served at once, and no symbol is sent
//! twice.

use crate::time::Time;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

/// Symbols remembered: 50 ms at 1 Gbit/s, all of it repairs. What is forgotten may be sent twice.
const SYMBOLS_MAX: usize = 4096;

/// Symbols sent for repair, oldest first: when, of which object and block, and which source symbol.
#[derive(Debug, Default)]
pub(in crate::sender) struct InFlight {
    sent: VecDeque<(Time, u64, u32, Option<u16>)>,
}

/// What of a block is on its way.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::sender) struct BlockInFlight {
    /// Parity symbols: each serves whoever lacks one.
    pub(in crate::sender) parity: u16,
    /// Source symbols: they serve who lacks just these.
    pub(in crate::sender) sources: BTreeSet<u16>,
}

impl InFlight {
    /// A symbol goes out that is not part of a pass: `source`, or parity.
    pub(in crate::sender) fn on_sent(
        &mut self,
        now: Time,
        ordinal: u64,
        block: u32,
        source: Option<u16>,
    ) {
        if self.sent.len() >= SYMBOLS_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back((now, ordinal, block, source));
    }

    /// Symbols of each block that were sent after `seen`.
    pub(in crate::sender) fn since(&self, seen: Time) -> BTreeMap<(u64, u32), BlockInFlight> {
        let mut blocks: BTreeMap<_, BlockInFlight> = BTreeMap::new();
        for (_, ordinal, block, source) in self.sent.iter().rev().take_while(|(at, ..)| *at > seen)
        {
            let in_flight_block = blocks.entry((*ordinal, *block)).or_default();
            match source {
                Some(symbol) => drop(in_flight_block.sources.insert(*symbol)),
                None => in_flight_block.parity += 1,
            }
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    #[test]
    fn only_symbols_sent_after_the_requesters_clock_echo_are_in_flight() {
        let mut in_flight = InFlight::default();
        (0..10).for_each(|n| in_flight.on_sent(at(n), 1, u32::from(n >= 5), (n == 4).then_some(7)));
        assert_eq!(in_flight.since(at(9)), BTreeMap::new());
        let named = BlockInFlight { parity: 0, sources: [7].into() };
        let parity = BlockInFlight { parity: 5, ..BlockInFlight::default() };
        assert_eq!(in_flight.since(at(3)), [((1, 0), named), ((1, 1), parity)].into());
    }

    #[test]
    fn the_memory_of_symbols_in_flight_is_bounded() {
        let mut in_flight = InFlight::default();
        (0..SYMBOLS_MAX as u64 + 9).for_each(|n| in_flight.on_sent(at(n), n, 0, None));
        assert_eq!(in_flight.since(Time::ZERO).len(), SYMBOLS_MAX);
    }
}
