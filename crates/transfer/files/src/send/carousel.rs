//! Rounds of a carousel: everything once more, for who comes late or cannot ask.
//!
//! What receivers can keep in view is still with the core, and is sent again as it is. Where a round
//! has more, every object is enqueued anew from its source, under another id. Its announcement says
//! which object of the round it is, and who has that lets it be.

use crate::content::announcement::Turn;

/// The rounds of one sending.
#[derive(Debug)]
pub(super) struct Carousel {
    /// With the first.
    rounds: u64,
    /// Rounds to come after the one under way.
    left: u32,
    /// Objects are enqueued anew in each round.
    anew: bool,
    /// After the first round: place of the object to be enqueued next.
    next: Option<usize>,
}

impl Carousel {
    pub(super) fn new(rounds: u32) -> Self {
        Self { rounds: 1 + u64::from(rounds), left: rounds, anew: false, next: None }
    }

    /// Before anything has been enqueued: a round has so many objects, and so many can be kept.
    pub(super) fn plan(&mut self, objects: u64, kept: u64) {
        self.anew = self.left > 0 && objects > kept;
    }

    /// Whether objects have another id in each round.
    pub(super) fn is_anew(&self) -> bool {
        self.anew
    }

    /// Whether there is more than one round.
    pub(super) fn is_repeating(&self) -> bool {
        self.rounds > 1
    }

    /// Rounds in which everything is enqueued.
    pub(super) fn rounds_enqueued(&self) -> u64 {
        if self.anew { self.rounds } else { 1 }
    }

    /// What is announced of the object at this place.
    pub(super) fn turn(&self, place: u64, objects: u64) -> Option<Turn> {
        self.anew.then_some(Turn { place, objects, rounds: self.left })
    }

    /// Whether any of `objects`, which have all been enqueued once, is to be enqueued again.
    pub(super) fn has_next(&self, objects: usize) -> bool {
        let in_round = self.next.is_some_and(|next| next < objects);
        self.anew && objects > 0 && (in_round || self.left > 0)
    }

    /// Place of the next one. Begins a round when the one before is through.
    pub(super) fn next(&mut self, objects: usize) -> Option<usize> {
        if !self.has_next(objects) {
            return None;
        }
        let next = self.next.filter(|next| *next < objects);
        if next.is_none() {
            self.left -= 1;
        }
        self.next = Some(next.unwrap_or(0));
        self.next
    }

    /// The object at that place has been enqueued, or left out.
    pub(super) fn advance(&mut self) {
        self.next = self.next.map(|next| next + 1);
    }

    /// Whether the last round has begun.
    pub(super) fn is_last(&self) -> bool {
        self.left == 0
    }

    /// The core has sent everything once, and sends it so many times more by itself.
    pub(super) fn take_rounds(&mut self) -> u32 {
        if self.anew { 0 } else { std::mem::take(&mut self.left) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(rounds: u32, objects: usize, kept: u64) -> Vec<(usize, u32)> {
        let mut carousel = Carousel::new(rounds);
        carousel.plan(objects as u64, kept);
        let mut places = Vec::new();
        while let Some(place) = carousel.next(objects) {
            places.push((place, carousel.turn(place as u64, 0).unwrap().rounds));
            carousel.advance();
        }
        assert!(!carousel.has_next(objects));
        places
    }

    #[test]
    fn what_cannot_be_kept_is_enqueued_again_in_order_in_each_round() {
        assert_eq!(places(2, 3, 2), [(0, 1), (1, 1), (2, 1), (0, 0), (1, 0), (2, 0)]);
        assert_eq!(places(2, 2, 2), []);
        assert_eq!(places(0, 3, 2), []);
        assert_eq!(places(1, 0, 2), []);
    }

    #[test]
    fn what_is_kept_is_left_to_the_core() {
        let mut carousel = Carousel::new(3);
        carousel.plan(2, 2);
        assert_eq!((carousel.turn(0, 2), carousel.is_last()), (None, false));
        assert_eq!((carousel.take_rounds(), carousel.is_last()), (3, true));
    }
}
