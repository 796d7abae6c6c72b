//! How long messages take by each way, against the direct one.
//!
//! A receiver that passes on serves one after another, so each way has a delay of its own, which is no
//! queue. Who measures queues is told of the difference, as time that does not count.

use std::collections::BTreeMap;

use fanfare_units::time::{Duration, Time};

/// The stamps' clock wraps after so many microseconds.
const WRAP: i64 = 1 << 24;
/// The least delay of this time and the one before counts: queues have run empty in it.
const TURN: Duration = Duration::from_secs(4);

/// Delays of this time and the one before tell whether a queue stands: what a run waits for the one
/// before it, at a receiver that passes on, is over by then.
const STANDING: Duration = Duration::from_millis(250);

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

    fn add(&mut self, now: Time, delay: i64, turn: Duration) {
        if now.since(self.since) >= turn {
            *self = Self { now: delay, before: self.now, since: now };
        }
        self.now = self.now.min(delay);
    }

    fn least(&self) -> i64 {
        self.now.min(self.before)
    }
}

/// One way: the least delay of some seconds, against some reference, and of some moments.
#[derive(Debug)]
struct Delay {
    empty: Least,
    standing: Least,
}

/// The delays of all ways.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    reference: Option<i64>,
    ways: BTreeMap<Option<u8>, Delay>,
}

impl Delays {
    /// A message came that was stamped so, by this host; `None`: directly. How much of its delay is not
    /// that of the direct way, and of no queue that stands.
    pub(crate) fn on_stamp(&mut self, now: Time, way: Option<u8>, stamp: u32) -> Duration {
        let micros = (now.as_nanos() / 1000) as i64;
        let delay = (micros - i64::from(stamp)).rem_euclid(WRAP);
        let reference = *self.reference.get_or_insert(delay);
        let delay = (delay - reference + WRAP / 2).rem_euclid(WRAP) - WRAP / 2;
        let new = || Delay { empty: Least::new(now, delay), standing: Least::new(now, delay) };
        let kept = self.ways.entry(way).or_insert_with(new);
        kept.empty.add(now, delay, TURN);
        kept.standing.add(now, delay, STANDING);
        let passing = if way.is_some() { delay - kept.standing.least() } else { 0 };
        self.longer(way) + Duration::from_micros(passing.max(0) as u64)
    }

    /// How much longer this way is than the direct one, as it was measured last.
    pub(crate) fn longer(&self, way: Option<u8>) -> Duration {
        let least = |way| self.ways.get(&way).map(|delay: &Delay| delay.empty.least());
        let (Some(this), Some(direct)) = (least(way), least(None)) else { return Duration::ZERO };
        Duration::from_micros((this - direct).max(0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_units::time::at;

    #[test]
    fn what_a_way_is_longer_than_the_direct_one_is_no_queue() {
        let mut delays = Delays::default();
        let millis = Duration::from_millis;
        // The sender's clock is 5 s behind, and its stamps wrap in between.
        let stamp = |sent: u64| ((sent * 1000 + (1 << 24) - 5_000_000) % (1 << 24)) as u32;
        for sent in (20_000..22_000).step_by(10) {
            assert_eq!(delays.on_stamp(at(sent + 1), None, stamp(sent)), millis(0));
            let longer = delays.on_stamp(at(sent + 31), Some(3), stamp(sent));
            assert_eq!(longer, millis(30));
        }
        assert_eq!(delays.longer(Some(4)), millis(0), "nothing is known of it");
    }

    #[test]
    fn what_a_run_waits_for_the_one_before_it_is_no_queue_and_what_stands_is() {
        let mut delays = Delays::default();
        let millis = Duration::from_millis;
        // Each tenth message finds nothing before it; the next ones wait up to 45 ms.
        let mut queued = |sent: u64, stands: u64| {
            let waits = sent / 10 % 10 * 5;
            delays.on_stamp(at(sent + 1), None, (sent * 1000) as u32);
            let arrived = at(sent + 31 + waits + stands);
            let beside = delays.on_stamp(arrived, Some(3), (sent * 1000) as u32);
            millis(30 + waits + stands) - beside
        };
        for sent in (1000..3000).step_by(10) {
            assert_eq!(queued(sent, 0), millis(0));
        }
        let standing: Vec<_> = (3000..4000).step_by(10).map(|sent| queued(sent, 20)).collect();
        assert!(standing[60..].iter().all(|queue| *queue == millis(20)), "{standing:?}");
    }
}
