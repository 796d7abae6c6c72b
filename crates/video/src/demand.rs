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
    /// Each viewer's last word.
    viewers: BTreeMap<u32, (usize, Instant)>,
    all: bool,
}

impl Demand {
    /// `all`: whatever viewers want, everything is sent.
    #[must_use]
    pub fn new(all: bool) -> Self {
        Self { viewers: BTreeMap::new(), all }
    }
    /// A viewer wants a rendition.
    pub fn on_want(&mut self, now: Instant, viewer: u32, rendition: usize) {
        self.viewers.insert(viewer, (rendition, now));
    }
    /// Whether a rendition is to be sent. While nobody wants anything the lowest is, for caches and
    /// for who comes.
    pub fn wants(&mut self, now: Instant, rendition: usize) -> bool {
        self.viewers.retain(|_, (_, at)| now.duration_since(*at) < REMEMBERED);
        let mut wanted = self.viewers.values().map(|(wanted, _)| *wanted);
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
    fn what_nobody_wants_is_not_sent_and_for_nobody_the_lowest_is() {
        let (mut demand, now) = (Demand::default(), Instant::now());
        let sent = |demand: &mut Demand, at| [0, 1, 2].map(|n| demand.wants(at, n));
        assert_eq!(sent(&mut demand, now), [true, false, false]);
        demand.on_want(now, 7, 2);
        demand.on_want(now, 8, 1);
        assert_eq!(sent(&mut demand, now), [false, true, true]);
        demand.on_want(now + Duration::from_secs(4), 8, 2);
        assert_eq!(sent(&mut demand, now + Duration::from_secs(5)), [false, false, true]);
        assert_eq!(sent(&mut demand, now + Duration::from_secs(60)), [true, false, false]);
        assert_eq!(sent(&mut Demand::new(true), now), [true, true, true]);
    }
}
