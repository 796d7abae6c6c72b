//! The state of each object of one instance of a publisher: complete here, settled, or neither.

use crate::occupancy::OBJECTS_IN_VIEW;
use fanfare_proto::{ObjectTransportId, RunSet};

/// One turn of transport ids is left below the first one heard, for what came earlier.
const FIRST: u64 = 0x1_0000;

pub(crate) use crate::coding::coded_packet::id_of;

/// The objects of one instance, counted on where ids wrap.
#[derive(Debug)]
pub(crate) struct SourceLog {
    newest: u64,
    /// The first one heard of.
    first: u64,
    /// Objects before it are no concern of ours.
    floor: u64,
    /// Whole, unwanted, or given up: nothing waits for it.
    settled: RunSet,
    whole: RunSet,
}

impl SourceLog {
    /// `id` is the first heard of; `back` objects before it count as well.
    pub(crate) fn new(id: ObjectTransportId, back: u64) -> Self {
        let first = FIRST + u64::from(id.0);
        // Ids do not reach back across 0: a publisher begins there.
        let floor = first - back.min(u64::from(id.0));
        let (settled, whole) = (RunSet::default(), RunSet::default());
        Self { newest: first, first, floor, settled, whole }
    }

    /// `newest` is what others said to be the newest before anything was heard: all up to it is from before.
    pub(crate) fn after(newest: ObjectTransportId, back: u64) -> Self {
        let log = Self::new(newest, back);
        Self { first: log.newest + 1, ..log }
    }

    /// The number of `id`, nearest to the newest.
    pub(crate) fn index(&self, id: ObjectTransportId) -> u64 {
        self.newest.saturating_add_signed(i64::from(id_of(self.newest).distance_to(id)))
    }
    pub(crate) fn on_heard(&mut self, id: ObjectTransportId) -> u64 {
        let index = self.index(id);
        self.newest = self.newest.max(index);
        index
    }
    pub(crate) fn on_whole(&mut self, index: u64) {
        self.whole.insert(index, index + 1);
    }
    /// It is no longer kept: others cannot have it from us.
    pub(crate) fn on_gone(&mut self, index: u64) {
        self.whole.remove(index, index + 1);
    }
    /// Nothing waits for it. Gives the first that is not settled.
    pub(crate) fn settle(&mut self, index: u64) -> u64 {
        self.settled.insert(index, index + 1);
        self.first_unsettled()
    }
    /// It is waited for after all.
    pub(crate) fn unsettle(&mut self, index: u64) {
        self.settled.remove(index, index + 1);
    }
    /// Nothing waits for what comes before `index`. Gives the first that is not settled.
    pub(crate) fn settle_before(&mut self, index: u64) -> u64 {
        if index > self.floor {
            self.settled.insert(self.floor, index);
        }
        self.first_unsettled()
    }
    /// Nothing waits for what comes before it.
    pub(crate) fn first_unsettled(&self) -> u64 {
        self.settled.first_gap(self.floor)
    }
    pub(crate) fn is_settled(&self, index: u64) -> bool {
        index < self.floor || self.settled.contains(index)
    }
    pub(crate) fn settled(&self) -> &RunSet {
        &self.settled
    }
    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }
    pub(crate) fn whole(&self) -> &RunSet {
        &self.whole
    }
    /// The first and the last index that anything can be of now: what is older is out of view, and of what is newer
    /// something would have been heard.
    pub(crate) fn view(&self) -> (u64, u64) {
        let view = u64::from(OBJECTS_IN_VIEW);
        ((self.newest + 1).saturating_sub(view), self.newest + view)
    }
    /// The lowest that is spoken of to others: what came before is not known here.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }
    /// How many objects before the first one heard of it is.
    pub(crate) fn back(&self, index: u64) -> u64 {
        self.first.saturating_sub(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u16) -> ObjectTransportId {
        ObjectTransportId(n)
    }

    #[test]
    fn ids_are_extended_across_the_wrap() {
        let mut log = SourceLog::new(id(0xfffe), 10);
        let before = log.newest();
        assert_eq!(log.on_heard(id(3)), before + 5);
        assert_eq!(log.index(id(0xffff)), before + 1);
    }

    #[test]
    fn settled_objects_are_skipped_from_the_floor_on() {
        let mut log = SourceLog::new(id(2), 10);
        let floor = log.floor();
        assert_eq!(log.back(floor), 2, "none before the publisher's first");
        assert_eq!(log.settle(floor + 1), floor);
        assert_eq!(log.settle(floor), floor + 2);
        assert!(log.is_settled(floor - 1) && !log.is_settled(floor + 2));
    }
}
