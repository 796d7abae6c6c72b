//! Repairs that may still be on their way: whoever asks without having seen it need not be sent as much
//! again.
//!
//! Every request echoes the sender's clock as its receiver last knew it. What was sent later cannot
//! have been counted by who asks. Where all receivers are known, this takes the place of collecting
//! requests and of holding off: each can be served at once, and never twice.

use crate::time::Time;
use alloc::collections::{BTreeMap, VecDeque};

/// Symbols remembered: 50 ms at 1 Gbit/s, all of it repairs. What is forgotten may be sent twice.
const SYMBOLS_MAX: usize = 4096;

/// Symbols sent for repair, oldest first: when, and of which object and block.
#[derive(Debug, Default)]
pub(super) struct Flight {
    sent: VecDeque<(Time, u64, u32)>,
}

impl Flight {
    /// A symbol goes out that is not part of a pass.
    pub(super) fn on_sent(&mut self, now: Time, ordinal: u64, block: u32) {
        if self.sent.len() >= SYMBOLS_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back((now, ordinal, block));
    }

    /// Symbols of each block that were sent after `seen`.
    pub(super) fn since(&self, seen: Time) -> BTreeMap<(u64, u32), u16> {
        let mut symbols = BTreeMap::new();
        for (_, ordinal, block) in self.sent.iter().rev().take_while(|(at, ..)| *at > seen) {
            *symbols.entry((*ordinal, *block)).or_default() += 1;
        }
        symbols
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    #[test]
    fn only_what_was_sent_after_the_asker_looked_is_on_its_way() {
        let mut flight = Flight::default();
        (0..10).for_each(|n| flight.on_sent(at(n), 1, u32::from(n >= 5)));
        assert_eq!(flight.since(at(9)), BTreeMap::new());
        assert_eq!(flight.since(at(3)), [((1, 0), 1), ((1, 1), 5)].into());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut flight = Flight::default();
        (0..SYMBOLS_MAX as u64 + 9).for_each(|n| flight.on_sent(at(n), n, 0));
        assert_eq!(flight.since(Time::ZERO).len(), SYMBOLS_MAX);
    }
}
