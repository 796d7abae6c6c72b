//! Only messages that are newer than all before, for each publisher and topic.

use super::{Order, Place, Source};
use crate::lru_map::LruMap;
use alloc::collections::VecDeque;

/// Remembers the newest of each.
#[derive(Debug)]
pub(super) struct Latest {
    newest: LruMap<(Source, u32), u64>,
    ready: VecDeque<Place>,
    dropped: VecDeque<Place>,
}

impl Latest {
    /// For at most so many topics of publishers.
    pub(super) fn new(streams: usize) -> Self {
        let (ready, dropped) = (VecDeque::new(), VecDeque::new());
        Self { newest: LruMap::new(streams), ready, dropped }
    }
}

impl Order for Latest {
    fn on_message(&mut self, place: Place) {
        let newest = self.newest.entry(&(place.source, place.topic), || place.index);
        *newest = place.index.max(*newest);
        if *newest != place.index {
            return self.dropped.push_back(place);
        }
        // What still waits is old news now.
        let same = |old: &Place| (old.source, old.topic) == (place.source, place.topic);
        self.dropped.extend(self.ready.iter().copied().filter(same));
        self.ready.retain(|old| !same(old));
        self.ready.push_back(place);
    }
    fn on_settled(&mut self, _source: Source, _index: u64) {}
    fn poll(&mut self) -> Option<Place> {
        self.ready.pop_front()
    }
    fn poll_dropped(&mut self) -> Option<Place> {
        self.dropped.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::{at, drain};
    use alloc::vec::Vec;

    #[test]
    fn an_older_message_is_never_handed_over_after_a_newer_one() {
        let mut order = Latest::new(8);
        order.on_message(at(5, 0, 2));
        assert_eq!(drain(&mut order), [5]);
        order.on_message(at(4, 0, 1));
        order.on_message(at(3, 1, 0));
        assert_eq!(drain(&mut order), [3], "the other topic has its own newest");
    }

    #[test]
    fn of_several_that_wait_only_the_newest_is_left() {
        let mut order = Latest::new(8);
        [1, 2, 3, 0].into_iter().for_each(|n| order.on_message(at(n, 0, n)));
        assert_eq!(drain(&mut order), [3]);
        let dropped = core::iter::from_fn(|| order.poll_dropped()).map(|place| place.index);
        assert_eq!(dropped.collect::<Vec<_>>(), [1, 2, 0]);
    }
}
