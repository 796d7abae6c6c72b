//! Each publisher's messages of one topic in the order of publication. A loss on another topic does
//! not delay them.

use super::{Order, Place, Source};
use crate::lru_map::LruMap;
use alloc::collections::{BTreeMap, VecDeque};

type Stream = (Source, u32);

/// Holds back what has a number missing before it, until that is known never to come.
#[derive(Debug)]
pub(super) struct SourceTopicOrder {
    held: BTreeMap<(Stream, u64), Place>,
    /// The same by their objects.
    by_index: BTreeMap<(Source, u64), (Stream, u64)>,
    /// The number to come next; those of a stream begin at 0.
    next: LruMap<Stream, u64>,
    settled: LruMap<Source, u64>,
    ready: VecDeque<Place>,
}

impl SourceTopicOrder {
    /// For at most so many topics of publishers, and publishers.
    pub(super) fn new(streams: usize) -> Self {
        let (held, by_index, ready) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        let (next, settled) = (LruMap::new(streams), LruMap::new(streams));
        Self { held, by_index, next, settled, ready }
    }

    /// It waits for nothing any more, nor does what follows it on its topic.
    fn release(&mut self, mut place: Place) {
        let stream = (place.source, place.topic);
        loop {
            let next = self.next.entry(&stream, || 0);
            *next = place.next_number.max(*next);
            let next = *next;
            self.ready.push_back(place);
            let following = self.held.range((stream, 0)..=(stream, next)).next();
            let Some(following) = following.map(|(_, place)| *place) else { return };
            place = following;
            self.take(place);
        }
    }

    fn take(&mut self, place: Place) {
        self.held.remove(&((place.source, place.topic), place.number));
        self.by_index.remove(&(place.source, place.index));
    }
}

impl Order for SourceTopicOrder {
    fn on_message(&mut self, place: Place) {
        let (stream, number) = ((place.source, place.topic), place.number);
        let next = self.next.get(&stream).copied().unwrap_or(0);
        let settled = self.settled.get(&place.source).copied().unwrap_or(0);
        if number <= next || place.index < settled {
            return self.release(place);
        }
        // Who gives two messages one number has no order to keep.
        if let Some(other) = self.held.insert((stream, number), place) {
            self.by_index.remove(&(other.source, other.index));
            self.ready.push_back(other);
        }
        self.by_index.insert((place.source, place.index), (stream, number));
    }
    fn on_settled(&mut self, source: Source, index: u64) {
        let settled = self.settled.entry(&source, || 0);
        *settled = index.max(*settled);
        let before = (source, 0)..(source, *settled);
        while let Some(key) = self.by_index.range(before.clone()).next().map(|(_, key)| *key) {
            let Some(place) = self.held.get(&key).copied() else { return };
            self.take(place);
            self.release(place);
        }
    }
    fn poll(&mut self) -> Option<Place> {
        self.ready.pop_front()
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
    fn several_messages_as_one_are_followed_by_the_number_after_their_last() {
        let mut order = SourceTopicOrder::new(8);
        order.on_message(at(2, 7, 5));
        order.on_message(at(1, 7, 4));
        assert_eq!(drain(&mut order), []);
        order.on_message(Place { next_number: 4, ..at(0, 7, 0) });
        assert_eq!(drain(&mut order), [0, 1, 2]);
    }

    #[test]
    fn of_two_with_one_number_neither_is_held_for_ever() {
        let mut order = SourceTopicOrder::new(8);
        order.on_message(at(5, 7, 3));
        order.on_message(at(6, 7, 3));
        assert_eq!(drain(&mut order), [5]);
        order.on_settled(SOURCE, 7);
        assert_eq!(drain(&mut order), [6]);
        assert!(order.held.is_empty() && order.by_index.is_empty());
    }

    #[test]
    fn what_follows_on_the_topic_goes_with_what_it_waited_for() {
        let mut order = SourceTopicOrder::new(8);
        [3, 1, 2].into_iter().for_each(|n| order.on_message(at(n, 7, n)));
        order.on_message(at(0, 7, 0));
        assert_eq!(drain(&mut order), [0, 1, 2, 3]);
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
