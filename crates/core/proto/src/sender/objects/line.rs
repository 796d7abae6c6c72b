//! In which order objects are sent for the first time, where they take turns.
//!
//! An object finds its place when it comes: before those that it overtakes, behind all others. Who
//! was overtaken is owed a part of what the others send.

use crate::enqueue::Turn;
use alloc::collections::VecDeque;

/// An object of at most one part in so many of what is left of another overtakes it: that makes it
/// late by as little, and itself much earlier.
const SHORT: u64 = 8;
/// The longest waiting one has a byte for each that overtakes it at its own priority, and one for so
/// many of a higher: it goes on, whatever comes.
const HIGHER: u64 = 7;
/// So many are looked at when one comes. More wait only where nobody could overtake them in time.
const LOOKED_AT: usize = 256;

/// What decides who goes first.
#[derive(Debug, Clone, Copy)]
pub(in crate::sender) struct Place {
    /// `None`: it keeps its order.
    pub(in crate::sender) turn: Option<Turn>,
    /// Bytes that it has yet to send.
    pub(in crate::sender) left: u64,
}

impl Place {
    /// Whether the order of the two may change.
    fn may_pass(&self, other: &Self) -> bool {
        self.turn.zip(other.turn).is_some_and(|(own, other)| {
            own.priority > other.priority
                || own.priority == other.priority && own.lane != other.lane
        })
    }

    /// Whether that is of use.
    fn gains(&self, other: &Self) -> bool {
        self.is_above(other) || self.left.saturating_mul(SHORT) <= other.left
    }

    fn is_above(&self, other: &Self) -> bool {
        self.turn.zip(other.turn).is_some_and(|(own, other)| own.priority > other.priority)
    }
}

/// The objects whose first pass is under way or to come, by their ordinals.
#[derive(Debug, Default)]
pub(in crate::sender) struct Line {
    order: VecDeque<u64>,
    /// Bytes that the longest waiting one is owed.
    debt: u64,
}

impl Line {
    /// One more comes; `of` gives the place of each.
    pub(in crate::sender) fn insert(&mut self, ordinal: u64, of: impl Fn(u64) -> Option<Place>) {
        let mut at = self.order.len();
        if let Some(own) = of(ordinal).filter(|own| own.turn.is_some()) {
            let behind = self.order.iter().enumerate().rev().take(LOOKED_AT);
            let places = behind.map_while(|(index, other)| Some((index, of(*other)?)));
            for (index, other) in places.take_while(|(_, other)| own.may_pass(other)) {
                if own.gains(&other) {
                    at = index;
                }
            }
        }
        self.order.insert(at, ordinal);
    }

    /// One has nothing more to send, or is gone.
    pub(in crate::sender) fn remove(&mut self, ordinal: u64) {
        if let Some(at) = self.order.iter().position(|other| *other == ordinal) {
            self.order.remove(at);
        }
    }

    /// Whose turn it is; `oldest` waits for the longest time. A debt is paid by the `segment`.
    pub(in crate::sender) fn next(&self, oldest: u64, segment: u64) -> Option<u64> {
        let first = self.order.front().copied()?;
        Some(if self.debt >= segment { oldest } else { first })
    }

    /// Bytes of a first pass were sent.
    pub(in crate::sender) fn on_sent(
        &mut self,
        bytes: u64,
        sent: (u64, Option<Place>),
        oldest: Option<(u64, Option<Place>)>,
    ) {
        let Some(oldest) = oldest.filter(|oldest| oldest.0 <= sent.0) else {
            // Nobody has been overtaken.
            self.debt = 0;
            return;
        };
        if sent.0 == oldest.0 {
            self.debt = self.debt.saturating_sub(bytes);
            return;
        }
        let above = sent.1.zip(oldest.1).is_some_and(|(own, other)| own.is_above(&other));
        let owed = if above { bytes.div_ceil(HIGHER) } else { bytes };
        self.debt = self.debt.saturating_add(owed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{collections::BTreeMap, vec::Vec};

    const SEGMENT: u64 = 1000;

    /// Objects by their ordinals: priority, lane and bytes.
    struct Objects {
        line: Line,
        places: BTreeMap<u64, Place>,
    }

    impl Objects {
        fn new() -> Self {
            Self { line: Line::default(), places: BTreeMap::new() }
        }
        fn push(&mut self, ordinal: u64, turn: Option<(u8, u64)>, left: u64) -> &mut Self {
            let turn = turn.map(|(priority, lane)| Turn { priority, lane });
            self.places.insert(ordinal, Place { turn, left });
            self.line.insert(ordinal, |ordinal| self.places.get(&ordinal).copied());
            self
        }
        fn order(&self) -> Vec<u64> {
            self.line.order.iter().copied().collect()
        }
        /// Sends a segment; gives whose.
        fn send(&mut self) -> Option<u64> {
            let oldest = *self.places.first_key_value()?.0;
            let ordinal = self.line.next(oldest, SEGMENT)?;
            let place = self.places.get_mut(&ordinal)?;
            let bytes = place.left.min(SEGMENT);
            place.left -= bytes;
            let (sent, oldest) =
                ((ordinal, Some(*place)), (oldest, self.places.get(&oldest).copied()));
            self.line.on_sent(bytes, sent, Some(oldest));
            if self.places[&ordinal].left == 0 {
                self.places.remove(&ordinal);
                self.line.remove(ordinal);
            }
            Some(ordinal)
        }
    }

    #[test]
    fn a_short_one_overtakes_a_long_one_and_none_as_short_as_itself() {
        let mut objects = Objects::new();
        objects.push(1, Some((4, 1)), 500_000).push(2, Some((4, 2)), 100);
        objects.push(3, Some((4, 3)), 100).push(4, Some((4, 4)), 70_000);
        assert_eq!(objects.order(), [2, 3, 1, 4]);
    }

    #[test]
    fn a_higher_priority_overtakes_and_a_lower_one_waits_however_short_it_is() {
        let mut objects = Objects::new();
        objects.push(1, Some((4, 1)), 1000).push(2, Some((5, 1)), 9000).push(3, Some((3, 2)), 1);
        assert_eq!(objects.order(), [2, 1, 3]);
    }

    #[test]
    fn a_lane_keeps_its_order_and_so_does_what_has_no_turn() {
        let mut objects = Objects::new();
        objects.push(1, Some((4, 1)), 500_000).push(2, Some((4, 1)), 100);
        assert_eq!(objects.order(), [1, 2]);
        objects.push(3, None, 1).push(4, Some((9, 2)), 1);
        assert_eq!(objects.order(), [1, 2, 3, 4]);
    }

    #[test]
    fn a_short_one_overtakes_a_long_one_also_where_another_short_one_waits_behind_it() {
        let mut objects = Objects::new();
        objects.push(1, Some((4, 1)), 500_000).push(2, Some((4, 1)), 100);
        objects.push(3, Some((4, 2)), 100);
        assert_eq!(objects.order(), [3, 1, 2]);
    }

    #[test]
    fn what_short_ones_send_is_matched_byte_for_byte_so_that_a_long_one_goes_on() {
        let mut objects = Objects::new();
        objects.push(1, Some((4, 0)), 100_000);
        for ordinal in 2..42 {
            objects.push(ordinal, Some((4, ordinal)), 500);
        }
        let sent: Vec<u64> = core::iter::from_fn(|| objects.send()).take(30).collect();
        assert_eq!(sent[..6], [2, 3, 1, 4, 5, 1]);
        assert_eq!(sent.iter().filter(|ordinal| **ordinal == 1).count(), 10);
    }

    #[test]
    fn under_a_higher_priority_a_long_one_has_an_eighth() {
        let mut objects = Objects::new();
        objects.push(1, Some((1, 0)), 100_000).push(2, Some((4, 1)), 100_000);
        let sent: Vec<u64> = core::iter::from_fn(|| objects.send()).take(80).collect();
        assert_eq!(sent.iter().filter(|ordinal| **ordinal == 1).count(), 10);
    }
}
