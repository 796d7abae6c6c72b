//! How long messages take by each way, and how much of it is a queue that stands on all ways.
//!
//! A receiver that passes on serves one after another, so each way has a delay of its own, and a run may
//! wait there for the one before it. Neither is a queue in the sense of congestion control. Who
//! measures queues is given arrivals as if all had come directly, late by what stands on the ways.

use std::collections::BTreeMap;

use fanfare_wire::units::time::{Duration, Time};

/// The stamps' clock wraps after so many microseconds.
const WRAP: i64 = 1 << 24;
/// The least delay of this time and the one before is that of an empty way: queues are drained more often.
const EMPTY: Duration = Duration::from_secs(5);
/// The less of so many runs' first delays is that of a queue that stands: what follows in a run waits for it.
const RUNS: usize = 2;
/// A round of turns, at most: more is not waited for. And at least, with several receivers: that is how long
/// a receiver passes on a run at most, where that is possible, and a round is not known from the first.
const ROUND_MAX: Duration = Duration::from_millis(125);
const ROUND_MIN: Duration = Duration::from_millis(20);
/// A queue grows so fast at most, of the time. Were it to jump, two messages that follow each other would look
/// like a pair, that the narrowest link has torn apart.
const STEEP: u32 = 4;
const RISE: u32 = 8;
/// What stands is looked up so often, at most.
const LOOK: Duration = Duration::from_millis(5);

/// The least of a time, and of the one before it, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Least {
    now: i64,
    before: i64,
    since: Time,
}

impl Least {
    fn new(now: Time, delay: i64) -> Self {
        Self { now: delay, before: delay, since: now }
    }

    fn add(&mut self, now: Time, delay: i64) {
        if now.since(self.since) >= EMPTY {
            *self = Self { before: self.now, ..Self::new(now, delay) };
        }
        self.now = self.now.min(delay);
    }

    fn least(&self) -> i64 {
        self.now.min(self.before)
    }
}

/// One way: its least delay of some seconds, against some reference, and those of its last runs.
#[derive(Debug)]
struct Delay {
    empty: Least,
    runs: [i64; RUNS],
    /// When its last run began, and how long after the one before.
    begun: Time,
    between: Duration,
    /// The number that follows the last one in its run.
    next: u16,
}

/// What most ways have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// How long messages queue, all the time, on three of four ways: what few samples say of one way is mostly
    /// the noise of its machine. The queue of the sender's link is in all of them.
    pub(crate) standing: Duration,
    /// From one run of a way to its next.
    pub(crate) round: Duration,
}

/// The delays of all ways.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    reference: Option<i64>,
    ways: BTreeMap<Option<u8>, Delay>,
    looked: Option<(Time, Look)>,
    /// The least delay of the direct way, as it was taken last, and when.
    direct: Option<(i64, Time)>,
    /// When the last one was sent that was given to the protocol, and how much later it seemed to come.
    given: Option<(Time, Duration)>,
}

impl Delays {
    /// A message came that was stamped so, by this host; `None`: directly. When it would have come directly,
    /// through no queue; `None`: it has no stamp.
    pub(crate) fn on_stamp(
        &mut self,
        arrived: Time,
        way: Option<u8>,
        (first, count, stamp): (u16, u16, Option<u32>),
    ) -> Option<Time> {
        let micros = (arrived.as_nanos() / 1000) as i64;
        let delay = (micros - i64::from(stamp?)).rem_euclid(WRAP);
        let reference = *self.reference.get_or_insert(delay);
        let delay = (delay - reference + WRAP / 2).rem_euclid(WRAP) - WRAP / 2;
        let new = || {
            let (empty, between) = (Least::new(arrived, delay), Duration::ZERO);
            Delay { empty, runs: [delay; RUNS], begun: arrived, between, next: first }
        };
        let kept = self.ways.entry(way).or_insert_with(new);
        kept.empty.add(arrived, delay);
        if first != kept.next {
            kept.runs.rotate_right(1);
            kept.runs[0] = delay;
            (kept.between, kept.begun) = (arrived.since(kept.begun), arrived);
        }
        kept.next = first.wrapping_add(count);
        let own = kept.empty.least();
        let direct = self.ways.get(&None).map_or(own, |direct| direct.empty.least());
        // It rises by and by, for the reason given at STEEP.
        let (before, since) = self.direct.unwrap_or((direct, arrived));
        let direct = direct.min(before + (arrived.since(since) / RISE).as_micros() as i64);
        self.direct = Some((direct, arrived));
        Some(arrived.before(Duration::from_micros((delay - direct).max(0) as u64)))
    }

    /// What was due then is given to the protocol now: as if it had come when?
    pub(crate) fn seen(&mut self, now: Time, due: Time) -> Time {
        let mut queue = self.look(now).standing;
        if let Some((before, queued)) = self.given {
            queue = queue.min(queued + due.since(before) * STEEP);
        }
        self.given = Some((due, queue));
        (due + queue).min(now)
    }

    /// What most ways have in common.
    pub(crate) fn look(&mut self, now: Time) -> Look {
        if let Some((at, look)) = self.looked
            && now.since(at) < LOOK
        {
            return look;
        }
        let passed = || self.ways.iter().filter(|(way, _)| way.is_some()).map(|(_, way)| way);
        let lately = || passed().filter(|way| now.since(way.begun) < EMPTY);
        if passed().next().is_none() {
            return Look { standing: Duration::ZERO, round: ROUND_MIN };
        }
        let queue =
            |way: &Delay| way.runs.iter().min().map_or(0, |least| least - way.empty.least());
        let queues = part(1, 4, lately().map(queue));
        let standing = Duration::from_micros(queues.unwrap_or(0).max(0) as u64);
        let round = part(1, 2, lately().map(|way| way.between))
            .unwrap_or_default()
            .clamp(ROUND_MIN, ROUND_MAX);
        let look = Look { standing, round };
        self.looked = Some((now, look));
        look
    }
}

/// The time from one stamp to a later one. An earlier one is taken for the same.
pub(crate) fn between(stamp: u32, later: u32) -> Duration {
    let micros = (i64::from(later) - i64::from(stamp)).rem_euclid(WRAP);
    Duration::from_micros(if micros < WRAP / 2 { micros as u64 } else { 0 })
}

/// What `part` of so many `parts` of them are less than.
fn part<T: Ord + Copy>(part: usize, parts: usize, all: impl Iterator<Item = T>) -> Option<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all.get(all.len() * part / parts).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

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
            let one = (sent as u16, 1, stamp(sent));
            assert_eq!(delays.on_stamp(at(sent + 1), None, one), Some(at(sent + 1)));
            assert_eq!(delays.on_stamp(at(sent + 31), Some(3), one), Some(at(sent + 1)));
            assert_eq!(delays.look(at(sent + 31)).standing, NONE);
        }
        assert_eq!(delays.on_stamp(at(0), None, (0, 1, None)), None, "it has no stamp");
    }

    #[test]
    fn what_a_run_waits_for_the_one_before_it_is_no_queue_and_what_stands_is() {
        let mut delays = Delays::default();
        // In turns of 100 ms each host passes on ten messages: the first finds nothing before it, the next
        // ones wait up to 45 ms.
        let mut queued = |sent: u64, stands: u64| {
            let waits = sent / 10 % 10 * 5;
            let one = ((sent / 10) as u16, 1, Some((sent * 1000) as u32));
            delays.on_stamp(at(sent + 1), None, one);
            let arrived = at(sent + 31 + waits + stands);
            let host = (sent / 100 % 3) as u8;
            assert_eq!(delays.on_stamp(arrived, Some(host), one), Some(at(sent + 1)));
            delays.look(arrived)
        };
        for sent in (1000..3000).step_by(10) {
            assert_eq!(queued(sent, 0).standing, NONE);
        }
        let looks: Vec<_> = (3000..4500).step_by(10).map(|sent| queued(sent, 20)).collect();
        assert!(looks[70..].iter().all(|look| look.standing == millis(20)), "{looks:?}");
        assert_eq!(looks[100].round, ROUND_MAX);
    }
}
