//! The state of each object of one instance of a publisher: complete here, settled, or neither.

use crate::occupancy::OBJECTS_IN_VIEW;
use alloc::collections::BTreeMap;
use fanfare_proto::{ObjectTransportId, RunSet};

/// A digest is of what is held among so many objects: all that can be repaired, and so all that a publisher waits for.
const DIGEST_REACH: u64 = OBJECTS_IN_VIEW as u64;
/// Objects whose content is remembered: who is so far behind as can be may say what it holds.
const CONTENTS_MAX: usize = 2 * DIGEST_REACH as usize;
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
    /// Contents of the last that became whole ([`content`]).
    contents: BTreeMap<u64, u32>,
}

/// An object's content in 32 bits, by the hash of its description: as many as the check of a short announcement
/// has.
pub(crate) fn content(id: ObjectTransportId, hash: u64) -> u32 {
    let z = hash ^ u64::from(id.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) as u32
}

impl SourceLog {
    /// `id` is the first heard of; `back` objects before it count as well.
    pub(crate) fn new(id: ObjectTransportId, back: u64) -> Self {
        let first = FIRST + u64::from(id.0);
        // Ids do not reach back across 0: a publisher begins there.
        let floor = first - back.min(u64::from(id.0));
        let (settled, whole) = (RunSet::default(), RunSet::default());
        Self { newest: first, first, floor, settled, whole, contents: BTreeMap::new() }
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
    /// The object's [`content`] is known.
    pub(crate) fn set_content(&mut self, index: u64, content: u32) {
        self.contents.insert(index, content);
        if self.contents.len() > CONTENTS_MAX {
            self.contents.pop_first();
        }
    }
    /// First object that a digest speaks of where this is the newest.
    pub(crate) fn digested(newest: u64) -> u64 {
        (newest + 1).saturating_sub(DIGEST_REACH)
    }
    /// Sum of the contents of these objects, of those up to `newest` that can be repaired; `None` where that of one is
    /// not known.
    pub(crate) fn digest(&self, held: &RunSet, newest: u64) -> Option<u32> {
        let mut digest = 0_u32;
        for (first, end) in held.within(Self::digested(newest), newest + 1) {
            let (mut count, contents) = (0, self.contents.range(first..end));
            for (_, content) in contents {
                (digest, count) = (digest.wrapping_add(*content), count + 1);
            }
            if count < end - first {
                return None;
            }
        }
        Some(digest)
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
    use crate::fnv::hash;

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
    fn golden_numbers_of_what_objects_are_and_of_several_together() {
        let mut log = SourceLog::new(id(0), 0);
        for (object, description) in [(0, &b"one"[..]), (1, b"two"), (3, b"one")] {
            let index = log.on_heard(id(object));
            log.set_content(index, content(id(object), hash(description)));
        }
        let digest = |log: &SourceLog, first, end| {
            let mut held = RunSet::default();
            held.insert(log.index(id(first)), log.index(id(end)));
            log.digest(&held, log.newest())
        };
        let (one, two) = (content(id(0), hash(b"one")), content(id(1), hash(b"two")));
        assert_eq!(
            [one, two, content(id(3), hash(b"one"))],
            [0x4a0a_2c61, 0xb831_db6e, 0x66fb_872d]
        );
        assert_eq!(digest(&log, 0, 2), Some(one.wrapping_add(two)));
        assert_eq!((digest(&log, 0, 3), digest(&log, 0, 0)), (None, Some(0)));
    }

    #[test]
    fn what_is_remembered_of_contents_is_bounded() {
        let mut log = SourceLog::new(id(0), 0);
        let first = log.newest();
        (first..first + 40_000).for_each(|index| log.set_content(index, 7));
        assert_eq!(log.contents.len(), CONTENTS_MAX);
        let mut held = RunSet::default();
        held.insert(first, first + 40_000);
        let of_view = Some(7 * DIGEST_REACH as u32);
        assert_eq!(log.digest(&held, first + 39_999), of_view);
        assert_eq!(log.digest(&held, first + 39_999 - DIGEST_REACH), of_view, "it is behind");
        assert_eq!(log.digest(&held, first + 39_998 - DIGEST_REACH), None);
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
