//! What has arrived, at whom, and how late.

use super::{
    table::RawMessage,
    traffic::{Kind, Planned},
};
use fanfare_sim::Sorted;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// What came of messages of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Share {
    /// Pairs of a message and a vehicle that is to have it.
    pub(super) pairs: u64,
    /// Of these, that had it at the end.
    pub(super) had: u64,
    /// That had it in time.
    pub(super) in_time: u64,
    /// Mean delay of those that had it, seconds.
    pub(super) delay: f64,
}

impl Share {
    /// Of all pairs, in percent.
    pub(super) fn percent(part: u64, of: u64) -> f64 {
        part as f64 * 100.0 / of.max(1) as f64
    }
}

/// What came of positions within a time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cut {
    /// Of all pairs, in percent.
    pub share: f64,
    /// Mean of those that came, milliseconds.
    pub mean_ms: f64,
    /// The delay that 95 of a hundred of them did not exceed, milliseconds.
    pub p95_ms: f64,
}

/// Notes arrivals.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    plan: &'a [Planned],
    vehicles: usize,
    /// When each message was published.
    published: Vec<Option<Duration>>,
    /// By message and vehicle: after how long. The first counts.
    delays: BTreeMap<(usize, usize), Duration>,
    /// Came again.
    pub(super) again: u64,
}

impl<'a> Tally<'a> {
    pub(super) fn new(plan: &'a [Planned], vehicles: usize) -> Self {
        let published = vec![None; plan.len()];
        Self { plan, vehicles, published, delays: BTreeMap::new(), again: 0 }
    }

    pub(super) fn on_published(&mut self, message: usize, at: Duration) {
        self.published[message] = Some(at);
    }

    pub(super) fn on_arrival(&mut self, vehicle: usize, message: usize, at: Duration) {
        let Some(planned) = self.plan.get(message) else { return };
        let Some(Some(published)) = self.published.get(message) else { return };
        if !planned.recipients(self.vehicles).any(|one| one == vehicle) {
            return;
        }
        let delay = at.saturating_sub(*published);
        match self.delays.entry((message, vehicle)) {
            std::collections::btree_map::Entry::Occupied(_) => self.again += 1,
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(delay);
            }
        }
    }

    /// All of it.
    pub(super) fn raw(&self) -> Vec<RawMessage> {
        let ms = |time: Duration| time.as_millis() as u64;
        let raw = |(message, planned): (usize, &Planned)| {
            let delay = |vehicle| self.delays.get(&(message, vehicle)).copied().map(ms);
            let delays = planned.recipients(self.vehicles).map(delay).collect();
            let at = self.published.get(message).copied().flatten();
            (planned.topic(), ms(at.unwrap_or(planned.at)), delays)
        };
        self.plan.iter().enumerate().map(raw).collect()
    }

    /// What came of one kind within a time.
    pub(super) fn cut(&self, kind: Kind, within: Duration) -> Cut {
        let of_kind = |message: usize| self.plan[message].kind == kind;
        let delays: Sorted = self
            .delays
            .iter()
            .filter(|((message, _), delay)| of_kind(*message) && **delay <= within)
            .map(|(_, delay)| delay.as_secs_f64() * 1000.0)
            .collect();
        let count = delays.len();
        let mean_ms = delays.iter().sum::<f64>() / count.max(1) as f64;
        let p95_ms = delays.percentile(95).unwrap_or_default();
        let share = Share::percent(count as u64, self.share(kind, within).pairs);
        Cut { share, mean_ms, p95_ms }
    }

    /// What came of one kind.
    pub(super) fn share(&self, kind: Kind, in_time: Duration) -> Share {
        let of_kind = |message: &usize| self.plan[*message].kind == kind;
        let all = self.plan.iter().filter(|one| one.kind == kind);
        let pairs = all.map(|one| one.recipients(self.vehicles).count() as u64).sum();
        let delays = self.delays.iter().filter(|((message, _), _)| of_kind(message));
        let mut share = Share { pairs, ..Share::default() };
        let mut sum = 0.0;
        for (_, delay) in delays {
            share.had += 1;
            share.in_time += u64::from(*delay <= in_time);
            sum += delay.as_secs_f64();
        }
        share.delay = sum / share.had.max(1) as f64;
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_arrival_counts_and_only_for_those_who_are_to_have_it() {
        let second = Duration::from_secs;
        let plan = super::super::traffic::plan(24, second(1));
        let mut tally = Tally::new(&plan, 24);
        // Nobody can have what was not published.
        tally.on_arrival(1, 0, second(1));
        tally.on_published(0, second(10));
        for (vehicle, at) in [(0, 11), (1, 12), (1, 13), (2, 16), (99, 11)] {
            tally.on_arrival(vehicle, 0, second(at));
        }
        tally.on_arrival(1, 1000, second(11));
        let share = tally.share(Kind::Position, second(5));
        assert_eq!((share.had, share.in_time, share.delay, tally.again), (2, 1, 4.0, 1));
        // Three vehicles report in the first second.
        assert_eq!(share.pairs, 3 * 23);
        assert_eq!(tally.share(Kind::Sensor, second(5)), Share::default());
        let cut = tally.cut(Kind::Position, second(5));
        assert_eq!((cut.mean_ms, cut.p95_ms), (2000.0, 2000.0));
        let all = tally.cut(Kind::Position, second(60));
        assert_eq!((all.mean_ms, all.p95_ms), (4000.0, 6000.0));
        assert!((all.share - 200.0 / 69.0).abs() < 1e-9);
        let (topic, at, delays) = &tally.raw()[0];
        assert_eq!((topic.as_str(), *at, delays.len()), ("position/v1", 10_000, 23));
        assert_eq!(delays[..3], [Some(2000), Some(6000), None]);
    }
}
