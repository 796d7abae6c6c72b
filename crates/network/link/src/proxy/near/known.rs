//! Destinations that have taken a connection lately: it is likely that they take another.
//!
//! Over a long road a program waits a round trip to hear that it is connected, and only then says what it
//! wants. A browser opens six connections to one server. When the first has come about, the others need
//! not wait: the program hears at once that it is connected, and its first bytes go with the request.
//! A destination that does not take this one after all resets it, and is not known any more.

use std::{
    collections::HashMap,
    hash::Hash,
    time::{Duration, Instant},
};

/// A destination is known for so long after it took a connection. A server that is restarted, or a rule
/// that is changed, is seen by the next one.
const LASTS: Duration = Duration::from_secs(60);
/// As many destinations as a program that visits all of them remembers.
const KNOWN_MAX: usize = 1024;
/// On a shorter road there is little to save, and who waits for the other end to speak first would lose
/// more ([`super::asking`] waits 20 ms for the first bytes).
pub(super) const ROAD_MIN: Duration = Duration::from_millis(100);

/// When a connection is said to have come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Optimism {
    /// When the far side has answered.
    Never,
    /// At once over a long road, if the destination has taken a connection lately; else when the far side
    /// has answered.
    #[default]
    Known,
    /// At once.
    Always,
}

/// Who has taken a connection, and when.
#[derive(Debug)]
pub(super) struct Known<K> {
    taken: HashMap<K, Instant>,
}

impl<K> Default for Known<K> {
    fn default() -> Self {
        Self { taken: HashMap::new() }
    }
}

impl<K: Hash + Eq + Clone> Known<K> {
    /// It takes connections.
    pub(super) fn on_taken(&mut self, now: Instant, key: K) {
        if self.taken.len() >= KNOWN_MAX && !self.taken.contains_key(&key) {
            self.make_room(now);
        }
        self.taken.insert(key, now);
    }

    /// It has not taken one.
    pub(super) fn on_refused(&mut self, key: &K) {
        self.taken.remove(key);
    }

    /// Whether it is likely to take another.
    pub(super) fn is_likely(&self, now: Instant, key: &K) -> bool {
        let lately = |then: &Instant| now.saturating_duration_since(*then) < LASTS;
        self.taken.get(key).is_some_and(lately)
    }

    fn make_room(&mut self, now: Instant) {
        self.taken.retain(|_, then| now.saturating_duration_since(*then) < LASTS);
        let oldest = self.taken.iter().min_by_key(|(_, then)| **then).map(|(key, _)| key.clone());
        if let Some(oldest) = oldest.filter(|_| self.taken.len() >= KNOWN_MAX) {
            self.taken.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_known_for_a_minute_unless_it_refuses() {
        let (mut known, now) = (Known::default(), Instant::now());
        assert!(!known.is_likely(now, &1));
        known.on_taken(now, 1);
        known.on_taken(now, 2);
        known.on_refused(&2);
        let before = now + LASTS - Duration::from_millis(1);
        assert!(known.is_likely(before, &1) && !known.is_likely(before, &2));
        assert!(!known.is_likely(now + LASTS, &1));
    }

    #[test]
    fn the_oldest_is_forgotten_when_there_are_too_many() {
        let (mut known, now) = (Known::default(), Instant::now());
        for n in 0..=KNOWN_MAX {
            known.on_taken(now + Duration::from_millis(n as u64), n);
        }
        let later = now + Duration::from_secs(2);
        assert_eq!(known.taken.len(), KNOWN_MAX);
        assert!(!known.is_likely(later, &0) && known.is_likely(later, &1));
    }
}
