//! What a node has of a stream, by number and rendition, and which rendition its viewers are shown.

use std::collections::BTreeMap;

use crate::{about::About, segment::Segment};

/// So many segments later, a missing one is a gap and not late.
const PATIENCE: u32 = 3;
/// Numbers that a list may span: four hours of seconds. A sender that jumps further has begun anew.
const SPAN_MAX: u32 = 14_400;

/// A stream at a node. `P`: where the bytes of a segment are.
#[derive(Debug)]
pub struct Shelf<P> {
    about: About,
    segments: BTreeMap<u32, Slot<P>>,
    bytes: u64,
    bytes_max: u64,
    gone: GoneSegments,
}

/// Segments that are no longer there: what a list says of those that are must not change when others go.
#[derive(Debug, Default)]
struct GoneSegments {
    /// Number that a list gives to the first segment of this life: it never goes back when the sender begins anew.
    base: u64,
    /// Changes of rendition, and of life, that have left the list.
    changes: u64,
    /// Lives that were over before this one and had anything.
    lives: u64,
    /// Number at which the oldest segments' rendition began, and what was shown then.
    run: Option<u32>,
    /// Time at which this life's number 0 began, milliseconds since 1970, as its first segment says.
    epoch_ms: Option<u64>,
}

#[derive(Debug)]
struct Slot<P> {
    /// What came first is shown: a playlist never changes what it has said.
    shown: usize,
    held: BTreeMap<usize, (Segment, u64, P)>,
}

/// A place in a playlist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Of the segment.
    pub number: u32,
    /// Its rendition and what is said of it; `None` is a gap.
    pub held: Option<(usize, Segment)>,
}

impl<P> Shelf<P> {
    /// An empty one that holds so many bytes.
    #[must_use]
    pub fn new(about: About, bytes_max: u64) -> Self {
        let gone = GoneSegments::default();
        Self { about, segments: BTreeMap::new(), bytes: 0, bytes_max, gone }
    }
    /// The stream.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }
    /// The sender says again what the stream is. Another life begins with an empty shelf, whose lists go on behind
    /// what this one said last; gives this one, if it had anything.
    pub fn on_about(&mut self, about: About) -> Option<Self> {
        if about.life < self.about.life {
            return None;
        }
        if about.life == self.about.life {
            self.about = about;
            return None;
        }
        let mut next = Self::new(about, self.bytes_max);
        (next.gone.base, next.gone.changes) = (self.gone.base, self.gone.changes);
        next.gone.lives = self.gone.lives;
        let shown = self.places(None);
        // What came behind one that was still waited for was never listed.
        if let Some(last) = shown.last() {
            next.gone.lives += 1;
            next.gone.changes += changes(&shown) + 1;
            next.gone.base += u64::from(last.number) + 1;
        }
        let before = std::mem::replace(self, next);
        (!shown.is_empty()).then_some(before)
    }

    /// Lets all go but the newest so many numbers.
    pub fn keep_newest(&mut self, count: usize) {
        while self.segments.len() > count.max(1) {
            self.drop_oldest();
        }
    }

    /// Number that a list gives to a segment.
    #[must_use]
    pub fn sequence(&self, number: u32) -> u64 {
        self.gone.base + u64::from(number)
    }

    /// Changes of rendition and of life that a list from this place on no longer shows. `before`: the places that
    /// are there and not in it, and its first one.
    #[must_use]
    pub fn changes_gone(&self, before: &[Place]) -> u64 {
        self.gone.changes + changes(before)
    }

    /// Lives of the sender before this one that had anything.
    #[must_use]
    pub fn lives_gone(&self) -> u64 {
        self.gone.lives
    }

    /// Number at which the rendition of the oldest segments began: those before are gone.
    #[must_use]
    pub fn oldest_run(&self) -> Option<u32> {
        self.gone.run
    }

    /// Time at which number 0 began, milliseconds since 1970.
    #[must_use]
    pub fn epoch_ms(&self) -> Option<u64> {
        self.gone.epoch_ms
    }

    /// The oldest goes.
    fn drop_oldest(&mut self) {
        let Some((number, oldest)) = self.segments.pop_first() else { return };
        self.bytes -= oldest.held.values().map(|(_, bytes, _)| bytes).sum::<u64>();
        let Some((next, slot)) = self.segments.first_key_value() else { return };
        if slot.shown != oldest.shown {
            self.gone.changes += 1;
        }
        let goes_on = slot.shown == oldest.shown && *next == number + 1;
        self.gone.run = goes_on.then(|| self.gone.run.unwrap_or(number));
    }

    /// Puts a segment there; false when it is of another life, or there already.
    pub fn put(&mut self, rendition: usize, segment: Segment, bytes: u64, place: P) -> bool {
        let is_far = self
            .segments
            .last_key_value()
            .is_some_and(|(last, _)| segment.number.abs_diff(*last) > SPAN_MAX);
        if segment.life != self.about.life || is_far {
            return false;
        }
        let slot = self
            .segments
            .entry(segment.number)
            .or_insert_with(|| Slot { shown: rendition, held: BTreeMap::new() });
        if slot.held.contains_key(&rendition) {
            return false;
        }
        slot.held.insert(rendition, (segment, bytes, place));
        let before = u64::from(segment.number) * u64::from(self.about.segment_ms);
        self.gone.epoch_ms.get_or_insert(segment.begun_ms.saturating_sub(before));
        self.bytes += bytes;
        while self.bytes > self.bytes_max && self.segments.len() > 1 {
            self.drop_oldest();
        }
        true
    }
    /// A segment of a rendition.
    #[must_use]
    pub fn get(&self, rendition: usize, number: u32) -> Option<&P> {
        self.segments.get(&number)?.held.get(&rendition).map(|(.., place)| place)
    }
    /// How many segments of any rendition there are, and their bytes.
    #[must_use]
    pub fn held(&self) -> (usize, u64) {
        (self.segments.values().map(|slot| slot.held.len()).sum(), self.bytes)
    }
    /// The newest number.
    #[must_use]
    pub fn newest(&self) -> Option<u32> {
        self.segments.last_key_value().map(|(number, _)| *number)
    }
    /// Whether all is here that will ever come.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.about.last.is_some_and(|last| self.newest().is_some_and(|newest| newest >= last))
    }

    /// What is to be shown, in order: of one rendition, or each in the one that came first. What is
    /// late is waited for; what is missing for long is a gap.
    #[must_use]
    pub fn places(&self, rendition: Option<usize>) -> Vec<Place> {
        let held = |slot: &Slot<P>| {
            let rendition = rendition.unwrap_or(slot.shown);
            slot.held.get(&rendition).map(|(segment, ..)| (rendition, *segment))
        };
        let mut have = self.segments.iter().filter_map(|(n, slot)| Some((*n, held(slot)?)));
        let Some((first, _)) = have.next() else { return Vec::new() };
        let last = have.next_back().map_or(first, |(last, _)| last);
        let mut out = Vec::new();
        for number in first..=last {
            let held = self.segments.get(&number).and_then(held);
            if held.is_none() && last - number < PATIENCE && !self.has_ended() {
                break;
            }
            out.push(Place { number, held });
        }
        out
    }
}

/// Number of times that the rendition changes from one place to a later one. A gap changes nothing.
fn changes(places: &[Place]) -> u64 {
    let renditions: Vec<usize> = places.iter().filter_map(|place| Some(place.held?.0)).collect();
    renditions.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::about::tests::about;

    pub(crate) fn segment(number: u32) -> Segment {
        let begun_ms = 1_790_000_000_000 + u64::from(number) * 1000;
        Segment { life: 7, number, duration_ms: 1000, begun_ms, pace_kbps: 0 }
    }
    /// A shelf with these segments: rendition and number.
    pub(crate) fn shelf(held: &[(usize, u32)]) -> Shelf<u32> {
        let mut shelf = Shelf::new(about(), 10_000);
        for (rendition, number) in held {
            assert!(shelf.put(*rendition, segment(*number), 100, *number));
        }
        shelf
    }
    fn shown(shelf: &Shelf<u32>, rendition: Option<usize>) -> Vec<(u32, Option<usize>)> {
        let places = shelf.places(rendition);
        places.iter().map(|place| (place.number, place.held.map(|held| held.0))).collect()
    }

    #[test]
    fn each_number_is_shown_in_the_rendition_that_came_first() {
        let shelf = shelf(&[(0, 4), (1, 5), (0, 5), (1, 4)]);
        assert_eq!(shown(&shelf, None), [(4, Some(0)), (5, Some(1))]);
        assert_eq!(shown(&shelf, Some(1)), [(4, Some(1)), (5, Some(1))]);
    }

    #[test]
    fn what_is_late_is_waited_for_and_what_is_missing_for_long_is_a_gap() {
        assert_eq!(shown(&shelf(&[(0, 4), (0, 6)]), None), [(4, Some(0))]);
        let later = shelf(&[(0, 4), (0, 6), (0, 7), (0, 8)]);
        let all: Vec<u32> = shown(&later, None).iter().map(|(n, _)| *n).collect();
        assert_eq!((all, shown(&later, None)[1]), (vec![4, 5, 6, 7, 8], (5, None)));
    }

    #[test]
    fn a_full_shelf_drops_the_oldest_and_another_life_empties_it() {
        let mut shelf = Shelf::new(about(), 250);
        (0..5).for_each(|n| assert!(shelf.put(0, segment(n), 100, n)));
        assert_eq!((shelf.held(), shown(&shelf, None)[0].0), ((2, 200), 3));
        assert!(!shelf.put(0, Segment { life: 6, ..segment(9) }, 1, 9));
        let before = shelf.on_about(About { life: 8, ..about() }).unwrap();
        assert_eq!((shelf.held(), before.held()), ((0, 0), (2, 200)));
        assert!(shelf.on_about(about()).is_none());
        assert_eq!(shelf.about().life, 8);
    }

    #[test]
    fn numbers_go_on_and_changes_are_counted_when_the_sender_begins_anew() {
        let mut shelf = shelf(&[(0, 4), (1, 5), (1, 6)]);
        assert_eq!((shelf.sequence(4), shelf.changes_gone(&[])), (4, 0));
        assert!(shelf.on_about(About { life: 8, ..about() }).is_some());
        assert_eq!((shelf.sequence(0), shelf.changes_gone(&[])), (7, 2));
        assert!(shelf.put(0, Segment { life: 8, ..segment(0) }, 100, 0));
        assert!(shelf.on_about(About { life: 9, ..about() }).is_some());
        assert_eq!((shelf.sequence(0), shelf.changes_gone(&[])), (8, 3));
        assert!(shelf.on_about(About { life: 10, ..about() }).is_none(), "it had nothing");
        assert_eq!((shelf.sequence(0), shelf.changes_gone(&[])), (8, 3));
    }

    #[test]
    fn what_the_oldest_began_with_is_known_when_they_are_gone() {
        let mut shelf = Shelf::new(about(), 250);
        for (rendition, number) in [(0, 0), (0, 1), (0, 2), (1, 3), (1, 4), (1, 5)] {
            assert!(shelf.put(rendition, segment(number), 100, number));
        }
        assert_eq!((shelf.oldest_run(), shelf.changes_gone(&[])), (Some(3), 1));
        assert_eq!(shelf.epoch_ms(), Some(1_790_000_000_000));
    }

    #[test]
    fn a_segment_twice_or_from_far_away_is_not_taken() {
        let mut shelf = shelf(&[(0, 4)]);
        assert!(!shelf.put(0, segment(4), 1, 4) && !shelf.put(0, segment(4_000_000), 1, 4));
        assert_eq!(shelf.get(0, 4), Some(&4));
    }
}
