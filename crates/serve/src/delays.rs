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

/// The least delays of one way, in microseconds, against some reference.
#[derive(Debug, Clone, Copy)]
struct Least {
    now: i64,
    before: i64,
    since: Time,
}

/// The least delays of all ways.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    reference: Option<i64>,
    ways: BTreeMap<Option<u8>, Least>,
}

impl Delays {
    /// A message came that was stamped so, by this host; `None`: directly. How much longer this way is than
    /// the direct one.
    pub(crate) fn on_stamp(&mut self, now: Time, way: Option<u8>, stamp: u32) -> Duration {
        let micros = (now.as_nanos() / 1000) as i64;
        let delay = (micros - i64::from(stamp)).rem_euclid(WRAP);
        let reference = *self.reference.get_or_insert(delay);
        let delay = (delay - reference + WRAP / 2).rem_euclid(WRAP) - WRAP / 2;
        let least = self.ways.entry(way).or_insert(Least { now: delay, before: delay, since: now });
        if now.since(least.since) >= TURN {
            *least = Least { now: delay, before: least.now, since: now };
        }
        least.now = least.now.min(delay);
        self.longer(way)
    }

    /// How much longer this way is than the direct one, as it was measured last.
    pub(crate) fn longer(&self, way: Option<u8>) -> Duration {
        let least = |way| self.ways.get(&way).map(|least: &Least| least.now.min(least.before));
        let (Some(this), Some(direct)) = (least(way), least(None)) else { return Duration::ZERO };
        Duration::from_micros((this - direct).max(0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_units::time::at;

    #[test]
    fn what_a_way_is_longer_than_the_direct_one_is_no_queue_and_what_comes_on_top_is() {
        let mut delays = Delays::default();
        let millis = Duration::from_millis;
        // The sender's clock is 5 s behind, and its stamps wrap in between.
        let stamp = |sent: u64| ((sent * 1000 + (1 << 24) - 5_000_000) % (1 << 24)) as u32;
        for sent in (20_000..22_000).step_by(10) {
            assert_eq!(delays.on_stamp(at(sent + 1), None, stamp(sent)), millis(0));
            let longer = delays.on_stamp(at(sent + 31), Some(3), stamp(sent));
            assert_eq!(longer, millis(30));
        }
        assert_eq!(delays.on_stamp(at(23_080), Some(3), stamp(23_000)), millis(30));
        assert_eq!(delays.longer(Some(4)), millis(0), "nothing is known of it");
    }
}
