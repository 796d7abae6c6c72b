//! Each publisher's messages of one topic in the order of publication: a loss on another topic
//! holds nothing up.

use super::{Order, Place, Source};
use crate::recent::Recent;
use alloc::collections::BTreeMap;

type Stream = (Source, u32);

/// Holds back what has a number missing before it, until that is known never to come.
#[derive(Debug)]
pub(super) struct SourceTopicOrder {
    held: BTreeMap<(Stream, u64), Place>,
    /// The number to come next; those of a stream begin at 0.
    next: Recent<Stream, u64>,
    settled: Recent<Source, u64>,
}

impl SourceTopicOrder {
    /// For at most so many topics of publishers, and publishers.
    pub(super) fn new(streams: usize) -> Self {
        Self { held: BTreeMap::new(), next: Recent::new(streams), settled: Recent::new(streams) }
    }

    fn is_ready(&self, (stream, number): (Stream, u64), place: &Place) -> bool {
        let next = self.next.get(&stream).copied().unwrap_or(0);
        let settled = self.settled.get(&stream.0).copied().unwrap_or(0);
        number <= next || place.index < settled
    }
}

impl Order for SourceTopicOrder {
    fn on_message(&mut self, place: Place) {
        self.held.insert(((place.source, place.topic), place.number), place);
    }
    fn on_settled(&mut self, source: Source, index: u64) {
        let settled = self.settled.entry(&source, || 0);
        *settled = index.max(*settled);
    }
    fn poll(&mut self) -> Option<Place> {
        let mut held = self.held.iter();
        let key = *held.find(|(key, place)| self.is_ready(**key, place))?.0;
        let place = self.held.remove(&key)?;
        let next = self.next.entry(&key.0, || 0);
        *next = place.number.saturating_add(1).max(*next);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::{SOURCE, at, drain};

    #[test]
    fn a_gap_on_one_topic_does_not_hold_up_another() {
        let mut order = SourceTopicOrder::new(8);
        order.on_message(at(1, 7, 1));
        order.on_message(at(2, 8, 0));
        assert_eq!(drain(&mut order), [2]);
        order.on_message(at(0, 7, 0));
        assert_eq!(drain(&mut order), [0, 1]);
    }

    #[test]
    fn the_last_number_there_is_has_none_after_it() {
        let mut order = SourceTopicOrder::new(8);
        order.on_settled(SOURCE, 6);
        order.on_message(at(5, 7, u64::MAX));
        assert_eq!(drain(&mut order), [5]);
    }

    #[test]
    fn a_number_that_will_never_come_is_passed_over_once_all_before_is_settled() {
        let mut order = SourceTopicOrder::new(8);
        order.on_message(at(5, 7, 4));
        assert_eq!(drain(&mut order), []);
        order.on_settled(SOURCE, 6);
        order.on_message(at(6, 7, 5));
        assert_eq!(drain(&mut order), [5, 6]);
    }
}
