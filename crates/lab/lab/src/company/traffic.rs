//! What is published when, by whom, and for whom.

use std::{ops::Range, time::Duration};

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Position,
    Sensor,
    Document,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Position, Self::Sensor, Self::Document];

    /// The first level of its topic.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Position => "position",
            Self::Sensor => "sensor",
            Self::Document => "document",
        }
    }
    /// Bytes.
    fn size(self) -> usize {
        match self {
            Self::Position => 128,
            Self::Sensor => 128 << 10,
            Self::Document => 512 << 10,
        }
    }
    /// First time, and between two.
    fn times(self) -> (Duration, Duration) {
        let (first, every) = match self {
            Self::Position => (0, 10),
            Self::Sensor => (30, 180),
            Self::Document => (60, 360),
        };
        (Duration::from_secs(first), Duration::from_secs(every))
    }
    /// Who publishes it: `None` for everybody, each a little later than the one before.
    fn publisher(self) -> Option<usize> {
        match self {
            Self::Position => None,
            Self::Sensor => Some(5),
            Self::Document => Some(3),
        }
    }
    /// Whether a vehicle wants it.
    fn is_wanted_by(self, vehicle: usize) -> bool {
        match self {
            Self::Position => true,
            Self::Sensor => [0, 1, 3].contains(&vehicle),
            Self::Document => vehicle <= 1,
        }
    }
}

/// So much later than the vehicle before it each one reports.
const STAGGER: Duration = Duration::from_millis(400);

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) at: Duration,
    pub(super) publisher: usize,
    pub(super) kind: Kind,
    pub(super) bytes: usize,
}

impl Planned {
    pub(super) fn topic(&self) -> String {
        format!("{}/v{}", self.kind.name(), self.publisher + 1)
    }
    /// Vehicles that are to have it.
    pub(super) fn recipients(&self, vehicles: usize) -> impl Iterator<Item = usize> + '_ {
        (0..vehicles).filter(|one| *one != self.publisher && self.kind.is_wanted_by(*one))
    }
}

/// All of it, in the order of time.
pub(super) fn plan(vehicles: usize, duration: Duration) -> Vec<Planned> {
    let mut all = Vec::new();
    for kind in Kind::ALL {
        let (first, every) = kind.times();
        let publishers = match kind.publisher() {
            Some(one) => one..one + 1,
            None => 0..vehicles,
        };
        for (number, publisher) in publishers.enumerate() {
            let mut at = first + STAGGER * number as u32;
            while at < duration {
                all.push(Planned { at, publisher, kind, bytes: kind.size() });
                at += every;
            }
        }
    }
    all.sort_by_key(|one| one.at);
    all
}

/// What nobody publishes, because its publisher is not there at that time, is not part of it.
pub(super) fn silence(plan: &mut Vec<Planned>, publisher: usize, window: &Range<Duration>) {
    plan.retain(|one| one.publisher != publisher || !window.contains(&one.at));
}

/// First levels of the topics that a vehicle wants.
pub(super) fn wants(vehicle: usize) -> Vec<&'static str> {
    let wanted = Kind::ALL.into_iter().filter(|kind| kind.is_wanted_by(vehicle));
    wanted.map(Kind::name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_there_publishes_nothing_and_all_others_do() {
        let second = Duration::from_secs;
        let all = plan(24, second(180));
        let mut left = all.clone();
        silence(&mut left, 3, &(second(60)..second(90)));
        let gone = all.iter().filter(|one| !left.contains(one));
        let gone: Vec<_> = gone.map(|one| (one.publisher, one.at.as_millis())).collect();
        // The document at 60 s, and three positions.
        assert_eq!(gone, [(3, 60_000), (3, 61_200), (3, 71_200), (3, 81_200)]);
    }

    #[test]
    fn everybody_reports_every_ten_seconds_and_the_rest_comes_from_two() {
        let all = plan(24, Duration::from_secs(300));
        let count = |kind| all.iter().filter(|one| one.kind == kind).count();
        let kinds = Kind::ALL.map(count);
        assert_eq!(kinds, [24 * 30, 2, 1]);
        assert!(all.is_sorted_by_key(|one| one.at));
        let to = |kind| all.iter().find(|one| one.kind == kind).unwrap().recipients(24).count();
        assert_eq!(Kind::ALL.map(to), [23, 3, 2]);
        assert_eq!(wants(1), ["position", "sensor", "document"]);
        assert_eq!((wants(3), wants(9)), (vec!["position", "sensor"], vec!["position"]));
    }
}
