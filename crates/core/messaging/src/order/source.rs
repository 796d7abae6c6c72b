//! Each publisher's messages in the order of publication, whatever their topics.

use super::{Order, Place, Source};
use crate::lru_map::LruMap;
use alloc::collections::{BTreeMap, VecDeque};

/// Holds back what has something unsettled before it.
#[derive(Debug)]
pub(super) struct SourceOrder {
    held: BTreeMap<(Source, u64), Place>,
    settled: LruMap<Source, u64>,
    ready: VecDeque<Place>,
}

impl SourceOrder {
    /// For at most so many publishers.
    pub(super) fn new(sources: usize) -> Self {
        let (held, ready) = (BTreeMap::new(), VecDeque::new());
        Self { held, settled: LruMap::new(sources), ready }
    }
}

impl Order for SourceOrder {
    fn on_message(&mut self, place: Place) {
        let settled = self.settled.get(&place.source).copied().unwrap_or(0);
        match place.index < settled {
            true => self.ready.push_back(place),
            false => _ = self.held.insert((place.source, place.index), place),
        }
    }
    fn on_settled(&mut self, source: Source, index: u64) {
        let settled = self.settled.entry(&source, || 0);
        *settled = index.max(*settled);
        let before = (source, 0)..(source, *settled);
        while let Some((key, place)) = self.held.range(before.clone()).next() {
            self.ready.push_back(*place);
            let key = *key;
            self.held.remove(&key);
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
    fn a_message_waits_for_all_that_was_published_before_it() {
        let mut order = SourceOrder::new(8);
        [2, 0, 3].into_iter().for_each(|index| order.on_message(at(index, index as u32, 0)));
        order.on_settled(SOURCE, 1);
        assert_eq!(drain(&mut order), [0]);
        order.on_message(at(1, 1, 0));
        order.on_settled(SOURCE, 4);
        assert_eq!(drain(&mut order), [1, 2, 3]);
    }

    #[test]
    fn what_will_never_come_is_not_waited_for() {
        let mut order = SourceOrder::new(8);
        order.on_message(at(7, 0, 3));
        assert_eq!(drain(&mut order), []);
        order.on_settled(SOURCE, 8);
        assert_eq!(drain(&mut order), [7]);
    }
}
