//! In the order of arrival.

use super::{Order, Place, Source};
use alloc::collections::VecDeque;

/// Holds nothing back.
#[derive(Debug, Default)]
pub(super) struct Arrival {
    ready: VecDeque<Place>,
}

impl Order for Arrival {
    fn on_message(&mut self, place: Place) {
        self.ready.push_back(place);
    }
    fn on_settled(&mut self, _source: Source, _index: u64) {}
    fn poll(&mut self) -> Option<Place> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::{at, drain};

    #[test]
    fn messages_are_delivered_in_the_order_of_arrival() {
        let mut order = Arrival::default();
        [5, 3, 4].into_iter().for_each(|index| order.on_message(at(index, 0, index)));
        assert_eq!(drain(&mut order), [5, 3, 4]);
    }
}
