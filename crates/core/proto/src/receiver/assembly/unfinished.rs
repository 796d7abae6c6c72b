//! Objects that a sender has let others overtake (EXT_TURN): what it has yet to send of them is not
//! missing, though later objects are here.

use crate::receiver::position::{ObjectIndex, Position};
use alloc::vec::Vec;
use fanfare_wire::ext::ExtTurn;

/// A message names fewer. More are a lie: those that lie behind its own object are remembered from
/// others.
const RUNS_MAX: usize = 8;

/// The objects of one sender that it has not sent whole, as it said last: a few runs.
#[derive(Debug, Default)]
pub(crate) struct Unfinished {
    /// First and last of each, in order.
    runs: Vec<(ObjectIndex, ObjectIndex)>,
    /// The sender has stopped: of what it was sending, as much counts as it may have sent.
    stopped: bool,
}

impl Unfinished {
    /// Whether this one is among them.
    pub(crate) fn contains(&self, object: ObjectIndex) -> bool {
        self.runs.iter().any(|(first, last)| (*first..=*last).contains(&object))
    }

    /// Of an object of which the sender stood in block `heard` when it was heard last, the blocks before
    /// this one have been sent.
    pub(crate) fn bound(&self, heard: u32) -> u64 {
        u64::from(heard) + u64::from(self.stopped)
    }

    /// The sender has been silent for long.
    pub(crate) fn on_silence(&mut self) {
        self.stopped = true;
    }

    /// A message of the sender says of `own`, of which it is, and of all that it may tell of, what `told`
    /// says. Gives the last object up to which the rest has been sent, where that is not its own; and how
    /// much of what it says cannot be. `within`: so far away an object may be.
    pub(crate) fn on_message(
        &mut self,
        own: ObjectIndex,
        told: impl Iterator<Item = ExtTurn>,
        within: u64,
    ) -> (Option<ObjectIndex>, u64) {
        self.stopped = false;
        let mut told = told.peekable();
        if told.peek().is_none() && self.runs.is_empty() {
            return (None, 0);
        }
        let (mut reach, mut runs, mut refused) = (None, Vec::new(), 0);
        for turn in told {
            let (first, count) = match turn {
                ExtTurn::Reach(object) => (object, 0),
                ExtTurn::Open { first, count } => (first, u64::from(count)),
            };
            let first = own.nearest(first);
            let last = ObjectIndex(first.0.saturating_add(count.saturating_sub(1)));
            let near = first.0.abs_diff(own.0) < within && last.0.abs_diff(own.0) < within;
            match count {
                0 if near && first > own && reach.is_none() => reach = Some(first),
                1.. if near => runs.push((first, last)),
                _ => refused += 1,
            }
        }
        // Of what comes behind nothing is said.
        let upper = reach.unwrap_or(own);
        let claimed = runs.len();
        runs.retain(|(_, last)| *last <= upper);
        refused += (claimed - runs.len()) as u64;
        runs.extend(reach.map(|_| (own, own)));
        let behind = self.runs.iter().filter(|(first, _)| *first > upper);
        runs.extend(behind);
        runs.sort_unstable();
        runs.truncate(RUNS_MAX);
        self.runs = runs;
        (reach, refused)
    }

    /// The sender has sent all up to this object.
    pub(crate) fn on_flush(&mut self, last: ObjectIndex) {
        self.stopped = false;
        self.runs.retain(|(first, _)| *first > last);
    }

    /// The first object from `at` on, but at most `end`, that is none of them.
    pub(crate) fn skip(&self, mut at: ObjectIndex, end: ObjectIndex) -> ObjectIndex {
        for (first, last) in &self.runs {
            if (*first..=*last).contains(&at) {
                at = last.next();
            }
        }
        at.min(end)
    }

    /// Of a run of objects those that are none of them, as runs (first, last).
    pub(crate) fn outside(
        &self,
        (first, last): (ObjectIndex, ObjectIndex),
    ) -> impl Iterator<Item = (ObjectIndex, ObjectIndex)> {
        let end = last.next();
        let mut at = first;
        core::iter::from_fn(move || {
            at = self.skip(at, end);
            if at >= end {
                return None;
            }
            let next = self.runs.iter().map(|(first, _)| *first).find(|first| *first > at);
            let (from, until) = (at, next.map_or(end, |next| next.min(end)));
            at = until;
            Some((from, ObjectIndex(until.0 - 1)))
        })
    }
}

/// Behind all of `object`.
pub(crate) fn behind(object: ObjectIndex) -> Position {
    Position { object, block: u64::from(u32::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::ObjectTransportId;

    const WITHIN: u64 = 100;

    fn at(id: u16) -> ObjectIndex {
        ObjectIndex::first(ObjectTransportId(id))
    }
    fn open(first: u16, count: u8) -> ExtTurn {
        ExtTurn::Open { first: ObjectTransportId(first), count }
    }
    fn reach(id: u16) -> ExtTurn {
        ExtTurn::Reach(ObjectTransportId(id))
    }

    #[test]
    fn what_was_overtaken_is_unfinished_until_a_later_message_names_it_no_more() {
        let mut unfinished = Unfinished::default();
        assert_eq!(unfinished.on_message(at(7), [open(5, 1)].into_iter(), WITHIN), (None, 0));
        assert!(unfinished.contains(at(5)) && !unfinished.contains(at(6)));
        let told = unfinished.on_message(at(5), [reach(7)].into_iter(), WITHIN);
        assert_eq!((told, unfinished.contains(at(5))), ((Some(at(7)), 0), true));
        unfinished.on_message(at(8), core::iter::empty(), WITHIN);
        assert!(unfinished.runs.is_empty());
    }

    #[test]
    fn a_flush_ends_what_lies_before_it() {
        let mut unfinished = Unfinished::default();
        unfinished.on_message(at(9), [open(3, 2), open(7, 1)].into_iter(), WITHIN);
        unfinished.on_flush(at(5));
        assert!(!unfinished.contains(at(3)) && unfinished.contains(at(7)));
        unfinished.on_flush(at(9));
        assert!(unfinished.runs.is_empty());
    }

    #[test]
    fn what_cannot_be_is_counted_and_changes_nothing() {
        let mut unfinished = Unfinished::default();
        for told in [
            [open(3000, 1), reach(2000)],
            [open(11, 1), reach(3)],
            [open(9, 5), open(20, 1)],
            [reach(10), open(11, 1)],
            [reach(10), open(0xfff0, 255)],
        ] {
            let (reach, refused) = unfinished.on_message(at(10), told.into_iter(), WITHIN);
            assert_eq!((reach, refused, unfinished.runs.is_empty()), (None, 2, true), "{told:?}");
        }
    }

    #[test]
    fn runs_are_split_around_what_is_unfinished() {
        let mut unfinished = Unfinished::default();
        unfinished.on_message(at(20), [open(3, 2), open(8, 1)].into_iter(), WITHIN);
        let split = |first, last| {
            let runs = unfinished.outside((at(first), at(last)));
            runs.map(|(first, last)| (first.id().0, last.id().0)).collect::<Vec<_>>()
        };
        assert_eq!(split(1, 10), [(1, 2), (5, 7), (9, 10)]);
        assert_eq!((split(3, 4), split(4, 5)), (Vec::new(), Vec::from([(5, 5)])));
        assert_eq!(unfinished.skip(at(3), at(30)), at(5));
    }

    #[test]
    fn what_is_unfinished_is_found_where_ids_wrap() {
        let mut unfinished = Unfinished::default();
        unfinished.on_message(at(0xffff), core::iter::empty(), WITHIN);
        let own = at(0xffff).nearest(ObjectTransportId(1));
        unfinished.on_message(own, [open(0xfffe, 1)].into_iter(), WITHIN);
        assert!(unfinished.contains(at(0xfffe)));
    }
}
