//! How long messages take by each way, and how much of it is a queue that stands on all ways.
//!
//! A receiver that passes on serves one after another, so each way has a delay of its own, and a run may
//! wait there for the one before it. Neither is a queue in the sense of congestion control. Who
//! measures queues is given arrivals as if all had come directly, late by what stands on the ways.

use std::collections::BTreeMap;

use fanfare_units::time::{Duration, Time};

/// The stamps' clock wraps after so many microseconds.
const WRAP: i64 = 1 << 24;
/// The least delay of this time and the one before is that of an empty way: queues are drained more often.
const EMPTY: Duration = Duration::from_secs(5);
/// The least delay of this time and the one before, and of so many runs, is that of a queue that stands: what
/// a run waited for the one before it does not last.
const STANDING: Duration = Duration::from_millis(250);
const RUNS: u32 = 2;
/// What stands is looked up so often, at most.
const LOOK: Duration = Duration::from_millis(5);

/// The least of a time, and of the one before it, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Least {
    now: i64,
    before: i64,
    since: Time,
    count: u32,
}

impl Least {
    fn new(now: Time, delay: i64) -> Self {
        Self { now: delay, before: delay, since: now, count: 0 }
    }

    fn add(&mut self, now: Time, delay: i64, (time, count): (Duration, u32)) {
        if now.since(self.since) >= time && self.count >= count {
            *self = Self { before: self.now, ..Self::new(now, delay) };
        }
        self.now = self.now.min(delay);
        self.count += 1;
    }

    fn least(&self) -> i64 {
        self.now.min(self.before)
    }
}

/// One way: its least delay of some seconds, against some reference, and of some moments.
#[derive(Debug)]
struct Delay {
    empty: Least,
    standing: Least,
    heard: Time,
}

/// The delays of all ways.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    reference: Option<i64>,
    ways: BTreeMap<Option<u8>, Delay>,
    looked: Option<(Time, Duration)>,
}

impl Delays {
    /// A message came that was stamped so, by this host; `None`: directly. When it would have come directly,
    /// through no queue; `None`: it has no stamp.
    pub(crate) fn on_stamp(
        &mut self,
        arrived: Time,
        way: Option<u8>,
        stamp: Option<u32>,
    ) -> Option<Time> {
        let micros = (arrived.as_nanos() / 1000) as i64;
        let delay = (micros - i64::from(stamp?)).rem_euclid(WRAP);
        let reference = *self.reference.get_or_insert(delay);
        let delay = (delay - reference + WRAP / 2).rem_euclid(WRAP) - WRAP / 2;
        let new = || {
            let least = Least::new(arrived, delay);
            Delay { empty: least, standing: least, heard: arrived }
        };
        let kept = self.ways.entry(way).or_insert_with(new);
        kept.empty.add(arrived, delay, (EMPTY, 0));
        kept.standing.add(arrived, delay, (STANDING, RUNS));
        kept.heard = arrived;
        let own = kept.empty.least();
        let direct = self.ways.get(&None).map_or(own, |direct| direct.empty.least());
        Some(arrived.before(Duration::from_micros((delay - direct).max(0) as u64)))
    }

    /// How long messages queue on most ways, all the time.
    pub(crate) fn standing(&mut self, now: Time) -> Duration {
        if let Some((at, standing)) = self.looked
            && now.since(at) < LOOK
        {
            return standing;
        }
        let lately = self.ways.values().filter(|way| now.since(way.heard) < EMPTY);
        let mut queues: Vec<i64> =
            lately.map(|way| way.standing.least() - way.empty.least()).collect();
        queues.sort_unstable();
        let median = queues.get(queues.len() / 2).copied().unwrap_or(0);
        let standing = Duration::from_micros(median.max(0) as u64);
        self.looked = Some((now, standing));
        standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_units::time::at;

    const NONE: Duration = Duration::ZERO;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_way_that_is_longer_than_the_direct_one_is_no_queue() {
        let mut delays = Delays::default();
        // The sender's clock is 5 s behind, and its stamps wrap in between.
        let stamp = |sent: u64| Some(((sent * 1000 + (1 << 24) - 5_000_000) % (1 << 24)) as u32);
        for sent in (20_000..22_000).step_by(10) {
            assert_eq!(delays.on_stamp(at(sent + 1), None, stamp(sent)), Some(at(sent + 1)));
            assert_eq!(delays.on_stamp(at(sent + 31), Some(3), stamp(sent)), Some(at(sent + 1)));
            assert_eq!(delays.standing(at(sent + 31)), NONE);
        }
        assert_eq!(delays.on_stamp(at(0), None, None), None, "it has no stamp");
    }

    #[test]
    fn what_a_run_waits_for_the_one_before_it_is_no_queue_and_what_stands_is() {
        let mut delays = Delays::default();
        // Of ten messages the first finds nothing before it; the next ones wait up to 45 ms.
        let mut queued = |sent: u64, stands: u64| {
            let waits = sent / 10 % 10 * 5;
            let stamp = Some((sent * 1000) as u32);
            delays.on_stamp(at(sent + 1), None, stamp);
            for host in 0..3 {
                let arrived = at(sent + 31 + waits + stands);
                assert_eq!(delays.on_stamp(arrived, Some(host), stamp), Some(at(sent + 1)));
            }
            delays.standing(at(sent + 31 + waits + stands))
        };
        for sent in (1000..3000).step_by(10) {
            assert_eq!(queued(sent, 0), NONE);
        }
        let standing: Vec<_> = (3000..4000).step_by(10).map(|sent| queued(sent, 20)).collect();
        assert!(standing[60..].iter().all(|queue| *queue == millis(20)), "{standing:?}");
    }
}
