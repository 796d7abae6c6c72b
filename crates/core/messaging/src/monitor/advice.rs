//! Ceilings for senders, as leases: a monitor says how much at most, never how much, and what it said
//! lapses by itself. Congestion control stays the fast loop.

use fanfare_wire::units::{Bitrate, Duration, Time};

/// So much of a link's capacity is left to a sender that fills it.
const OF_CAPACITY: f64 = 0.85;
/// A link that has just fallen has a queue, which more than this share of what it carries tells: first so much
/// is left to a sender that the queue is gone within the next change. A queue of a second is gone after two.
const OVERFULL: f64 = 1.05;
const WHILE_IT_DRAINS: f64 = 0.25;
/// Samples that must say so, and how far apart.
const SAMPLES: u32 = 2;
const APART: Duration = Duration::from_millis(500);
/// A ceiling lapses.
const LEASE: Duration = Duration::from_secs(30);
/// One change in this time, and so much more with each when all is well.
const STEP: Duration = Duration::from_secs(5);
const RECOVERS: f64 = 1.1;

/// Bounds that no advice leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The least ceiling.
    pub least: Bitrate,
    /// Above this there is no ceiling.
    pub most: Bitrate,
}

/// What is advised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Send no more than this until then.
    Ceiling(Bitrate, Time),
    /// Send as you would without.
    Free,
}

/// How it stands with a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sight {
    /// What it carries, bit/s.
    pub capacity: f64,
    /// Its used share.
    pub used: f64,
    /// Its round trip over that of an idle one.
    pub stretch: f64,
}

impl Sight {
    /// Full, or with a queue.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.used > 0.9 || self.stretch > 2.0
    }
}

/// Advises one sender over one link.
#[derive(Debug, Clone)]
pub struct Adviser {
    bounds: Bounds,
    ceiling: Option<(f64, Time)>,
    changed: Option<Time>,
    saturated: u32,
    /// The most that was used since it is saturated.
    most_used: f64,
    /// A queue drains: what is left to the sender when it is gone.
    then: Option<f64>,
    seen: Option<Time>,
}

impl Adviser {
    /// Within these bounds.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            ceiling: None,
            changed: None,
            saturated: 0,
            most_used: 0.0,
            then: None,
            seen: None,
        }
    }

    /// The link as it is now; gives what has changed.
    pub fn on_sight(&mut self, now: Time, sight: Sight) -> Option<Advice> {
        let apart = self.seen.is_none_or(|at| now.since(at) >= APART);
        if !apart || !sight.capacity.is_finite() || sight.capacity <= 0.0 {
            return self.lapse(now);
        }
        self.seen = Some(now);
        (self.saturated, self.most_used) = match sight.is_saturated() {
            true => (self.saturated + 1, self.most_used.max(sight.used)),
            false => (0, 0.0),
        };
        if self.changed.is_some_and(|at| now.since(at) < STEP) {
            return self.lapse(now);
        }
        if let Some(ceiling) = self.then.take() {
            return self.set(now, ceiling);
        }
        match (self.saturated >= SAMPLES, self.ceiling) {
            (true, None) if self.most_used > OVERFULL => {
                self.then = Some(sight.capacity * OF_CAPACITY);
                self.set(now, sight.capacity * WHILE_IT_DRAINS)
            }
            (true, _) => self.set(now, sight.capacity * OF_CAPACITY),
            (false, Some((ceiling, _))) if self.saturated == 0 => self.set(now, ceiling * RECOVERS),
            _ => self.lapse(now),
        }
    }

    fn set(&mut self, now: Time, ceiling: f64) -> Option<Advice> {
        self.changed = Some(now);
        if ceiling >= self.bounds.most.as_bps() as f64 {
            return self.ceiling.take().map(|_| Advice::Free);
        }
        let ceiling = ceiling.max(self.bounds.least.as_bps() as f64);
        let until = now.plus(LEASE);
        self.ceiling = Some((ceiling, until));
        Some(Advice::Ceiling(Bitrate::bps(ceiling as u64), until))
    }

    /// A lease that nobody has renewed is over.
    fn lapse(&mut self, now: Time) -> Option<Advice> {
        let over = self.ceiling.is_some_and(|(_, until)| now >= until);
        if !over {
            return None;
        }
        (self.ceiling, self.then) = (None, None);
        Some(Advice::Free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { least: Bitrate::kbps(50), most: Bitrate::mbps(1) };

    fn at(millis: u64) -> Time {
        Time::ZERO.plus(Duration::from_millis(millis))
    }

    fn sight(capacity: f64, used: f64) -> Sight {
        Sight { capacity, used, stretch: 1.0 }
    }

    #[test]
    fn two_samples_of_a_full_link_set_a_ceiling_and_one_does_not() {
        let mut adviser = Adviser::new(BOUNDS);
        assert_eq!(adviser.on_sight(at(0), sight(128e3, 1.0)), None);
        assert_eq!(adviser.on_sight(at(100), sight(128e3, 1.0)), None, "too soon");
        let advised = adviser.on_sight(at(500), sight(128e3, 1.0));
        assert_eq!(advised, Some(Advice::Ceiling(Bitrate::bps(108_800), at(30_500))));
    }

    #[test]
    fn a_link_that_has_fallen_drains_first_and_one_that_is_just_full_does_not() {
        let mut adviser = Adviser::new(Bounds { least: Bitrate::kbps(8), ..BOUNDS });
        // What came before the fall is still counted, and then only what the link carries.
        adviser.on_sight(at(0), sight(128e3, 2.0));
        let advised = adviser.on_sight(at(500), sight(128e3, 1.0));
        assert_eq!(advised, Some(Advice::Ceiling(Bitrate::bps(32_000), at(30_500))));
        assert_eq!(
            adviser.on_sight(at(5_000), sight(128e3, 0.3)),
            None,
            "one change in five seconds"
        );
        let advised = adviser.on_sight(at(5_500), sight(128e3, 0.3));
        assert_eq!(advised, Some(Advice::Ceiling(Bitrate::bps(108_800), at(35_500))));
        let advised = adviser.on_sight(at(10_500), sight(128e3, 0.85));
        assert_eq!(advised, Some(Advice::Ceiling(Bitrate::bps(119_680), at(40_500))));
        // A sender that is nearly at its ceiling has no queue.
        adviser.on_sight(at(15_000), sight(128e3, 0.95));
        let advised = adviser.on_sight(at(15_500), sight(128e3, 0.95));
        assert_eq!(advised, Some(Advice::Ceiling(Bitrate::bps(108_800), at(45_500))));
    }

    #[test]
    fn a_ceiling_rises_by_a_tenth_every_five_seconds_and_then_goes() {
        let mut adviser = Adviser::new(BOUNDS);
        adviser.on_sight(at(0), sight(128e3, 1.0));
        adviser.on_sight(at(500), sight(128e3, 1.0));
        let mut steps = 0;
        for second in 1..200 {
            match adviser.on_sight(at(500 + second * 1000), sight(1e6, 0.2)) {
                Some(Advice::Free) => break,
                Some(Advice::Ceiling(..)) => steps += 1,
                None => {}
            }
        }
        // ln(1000 / 108.8) / ln 1.1 = 23.3
        assert_eq!(steps, 23);
    }

    #[test]
    fn a_lease_that_nobody_renews_lapses() {
        let mut adviser = Adviser::new(BOUNDS);
        adviser.on_sight(at(0), sight(128e3, 1.0));
        adviser.on_sight(at(500), sight(128e3, 1.0));
        assert_eq!(adviser.on_sight(at(40_000), sight(f64::NAN, 0.0)), Some(Advice::Free));
    }

    #[test]
    fn bounds_are_never_left_and_nothing_oscillates() {
        let mut adviser = Adviser::new(BOUNDS);
        let mut told = std::vec::Vec::new();
        for half in 0..1200_u64 {
            // The link is full whenever the ceiling is above its capacity.
            let ceiling = adviser.ceiling.map_or(1e6, |(ceiling, _)| ceiling);
            let used = if ceiling > 128e3 { 1.0 } else { ceiling / 128e3 * 0.95 };
            if let Some(Advice::Ceiling(rate, _)) =
                adviser.on_sight(at(half * 500), sight(128e3, used))
            {
                told.push(rate.as_bps());
            }
        }
        assert!(told.iter().all(|rate| (50_000..=160_000).contains(rate)), "{told:?}");
        let mut adviser = Adviser::new(BOUNDS);
        adviser.on_sight(at(0), sight(10.0, 1.0));
        let least = adviser.on_sight(at(1000), sight(10.0, 1.0));
        assert!(
            matches!(least, Some(Advice::Ceiling(rate, _)) if rate == BOUNDS.least),
            "{least:?}"
        );
    }
}
