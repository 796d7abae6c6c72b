//! Which renditions anybody wants: the others are not sent.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// Viewers say it every two seconds; after two words that were lost, they do not want it any more.
const REMEMBERED: Duration = Duration::from_secs(6);

/// What viewers want, by the ladder's places.
#[derive(Debug, Default)]
pub struct Demand {
    /// Each viewer's last word: a rendition, what its path carries in bit/s, and when it said so.
    viewers: BTreeMap<u32, (usize, Option<u64>, Instant)>,
    all: bool,
}

impl Demand {
    /// `all`: whatever viewers want, everything is sent.
    #[must_use]
    pub fn new(all: bool) -> Self {
        Self { viewers: BTreeMap::new(), all }
    }
    /// A viewer wants a rendition, and says what its path carries, bit/s. Whether it waits for something
    /// to show: it is new, or it wanted a higher one before, which did not come.
    pub fn on_want(
        &mut self,
        now: Instant,
        viewer: u32,
        (rendition, carries): (usize, Option<u64>),
    ) -> bool {
        let before = self.viewers.insert(viewer, (rendition, carries, now));
        before.is_none_or(|(before, ..)| before > rendition)
    }
    /// What the narrowest path carries, bit/s, of those that know.
    #[must_use]
    pub fn carries(&self) -> Option<u64> {
        self.viewers.values().filter_map(|(_, carries, _)| *carries).min()
    }
    /// Whether a rendition is to be sent. While nobody wants anything the lowest is, for caches and
    /// for who comes.
    pub fn wants(&mut self, now: Instant, rendition: usize) -> bool {
        self.viewers.retain(|_, (.., at)| now.duration_since(*at) < REMEMBERED);
        let mut wanted = self.viewers.values().map(|(wanted, ..)| *wanted);
        self.all || wanted.any(|wanted| wanted == rendition) || self.is_lowest_alone(rendition)
    }
    fn is_lowest_alone(&self, rendition: usize) -> bool {
        rendition == 0 && self.viewers.is_empty()
    }
    /// How many viewers there are.
    #[must_use]
    pub fn viewers(&self) -> usize {
        self.viewers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_new_or_falls_waits_for_something_to_show() {
        let (mut demand, now) = (Demand::default(), Instant::now());
        let waits = [1, 1, 0, 0, 2].map(|rendition| demand.on_want(now, 7, (rendition, None)));
        assert_eq!(waits, [true, false, true, false, false]);
    }

    #[test]
    fn what_nobody_wants_is_not_sent_and_for_nobody_the_lowest_is() {
        let (mut demand, now) = (Demand::default(), Instant::now());
        let sent = |demand: &mut Demand, at| [0, 1, 2].map(|n| demand.wants(at, n));
        assert_eq!(sent(&mut demand, now), [true, false, false]);
        assert!(demand.on_want(now, 7, (2, None)));
        demand.on_want(now, 8, (1, Some(900_000)));
        assert_eq!(sent(&mut demand, now), [false, true, true]);
        assert!(!demand.on_want(now + Duration::from_secs(4), 8, (2, Some(800_000))));
        assert_eq!(demand.carries(), Some(800_000));
        assert_eq!(sent(&mut demand, now + Duration::from_secs(5)), [false, false, true]);
        assert_eq!(sent(&mut demand, now + Duration::from_secs(60)), [true, false, false]);
        assert_eq!(sent(&mut Demand::new(true), now), [true, true, true]);
    }
}
