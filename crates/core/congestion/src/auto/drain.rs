//! Letting the queue run empty now and then, so that all who share it see the path's own delay.
//!
//! Who begins while others keep messages queued takes that for the path's delay, and would take
//! their share. All must drain at once to show it: who sees the queue fall without having done it
//! joins, if its own turn is near, and who finds the path shorter than it thought drains again soon.

use super::view::View;
use crate::path::drain_interval;
use fanfare_wire::ext::ExtPath;
use fanfare_wire::units::time::{Duration, Time};

/// The share of the rate that is kept meanwhile.
pub(super) const KEEP: f64 = 0.5;
/// So many round trips long beside what the queue takes: at half the rate a quarter of a round trip
/// of other flows' messages leaves, too. With a drain each twenty it costs one percent.
const BEYOND: f64 = 0.5;
/// Never longer, in round trips.
const LONGEST: f64 = 2.0;
/// After a drain that found the path shorter the next follows so soon, in round trips, and is twice
/// as long, up to four times.
const SOON: u32 = 3;
const DEPTH_MAX: u32 = 4;
/// But so often in a row at most: a delay that wanders would have it drain for ever.
const AGAIN_MAX: u32 = 20;
/// The first one, round trips after the start has ended.
const FIRST: u32 = 4;
/// Round trips after a drain in which an empty queue says nothing.
const SETTLE: u32 = 2;

/// When to drain, and how long.
#[derive(Debug)]
pub(super) struct Drain {
    next: Option<Time>,
    from: Time,
    until: Time,
    on: bool,
    depth: u32,
    /// The application sends all that it may. Otherwise no queue stands that is ours.
    used: bool,
    /// Drains in a row that followed soon.
    again: u32,
    /// Least delay as reported last, and by how much it has fallen since the last drain.
    base: Option<u16>,
    fell: f64,
}

impl Drain {
    pub(super) fn new(now: Time) -> Self {
        Self {
            next: None,
            from: now,
            until: now,
            on: false,
            depth: 1,
            used: true,
            again: 0,
            base: None,
            fell: 0.0,
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// What was sent until `sent`, in about a round trip, and with `slack` on both sides, was less
    /// for a drain; false as long as there was none.
    pub(super) fn concerns(&self, sent: Time, slack: Duration, rtt: Duration) -> bool {
        self.from < self.until && self.from < sent + slack && sent < self.until + rtt + slack
    }

    /// The queue has had time to come back.
    pub(super) fn is_settled(&self, now: Time, rtt: Duration) -> bool {
        now > self.until + rtt * SETTLE
    }

    /// The start is over.
    pub(super) fn on_started(&mut self, now: Time, rtt: Duration) {
        self.next = Some(now + rtt * FIRST);
    }

    /// Another path is looked at.
    pub(super) fn on_other_path(&mut self) {
        self.base = None;
    }

    /// All of the rate was used, or not.
    pub(super) fn on_used(&mut self, used: bool) {
        self.used = used;
    }

    /// The path was seen; `wanted` is the queueing delay that should be.
    pub(super) fn on_view(&mut self, now: Time, view: &View, wanted: f64) {
        let before = self.base.replace(view.base).unwrap_or(view.base);
        self.fell += ExtPath::fallen(before, view.base).max(0.0);
        if self.on {
            return;
        }
        let rtt = view.rtt();
        let usual = self.until + drain_interval(rtt);
        let mut next = self.next.unwrap_or(usual);
        if self.fell > wanted / 4.0 && self.again < AGAIN_MAX {
            self.fell = 0.0;
            self.again += 1;
            self.depth = (self.depth * 2).min(DEPTH_MAX);
            next = next.min((self.until + rtt * SOON).max(now));
        } else if now > self.until + rtt * SOON * 2 && next >= usual {
            (self.depth, self.again) = (1, 0);
        }
        self.next = Some(next);
    }

    /// The queue has fallen without our doing: joins when three quarters of the time have passed.
    pub(super) fn join(&mut self, now: Time, rtt: Duration) {
        if !self.on && now.since(self.until) > drain_interval(rtt) / 4 * 3 {
            self.next = Some(now);
        }
    }

    /// The time has come: true when a drain begins.
    pub(super) fn on_timeout(&mut self, now: Time, standing: f64, rtt: Duration) -> bool {
        if self.on && now >= self.until {
            self.on = false;
            self.next = Some(now + drain_interval(rtt));
        } else if !self.on && self.next.is_some_and(|next| next <= now) {
            if !self.used {
                self.next = Some(now + rtt);
                return false;
            }
            let seconds = rtt.as_secs_f64();
            let long = standing / (1.0 - KEEP) + BEYOND * seconds * f64::from(self.depth);
            let until = now + Duration::from_secs_f64(long.min(LONGEST * seconds));
            (self.next, self.from, self.until, self.on, self.fell) = (None, now, until, true, 0.0);
            return true;
        }
        false
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        if self.on { Some(self.until) } else { self.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    const RTT: Duration = Duration::from_millis(100);

    fn view(base: u16) -> View {
        View {
            pace: 1.0,
            standing: 0.02,
            queue: 0.02,
            rtt: 0.1,
            lost: 0.0,
            marked: 0.0,
            base,
            bottleneck: None,
            link: 0.0,
            delivered: None,
            arrived: 0.0,
            message: 0.0,
            loss_events: 0.0,
            trip: Duration::ZERO,
        }
    }

    #[test]
    fn it_drains_once_in_twenty_round_trips_for_as_long_as_the_queue_and_a_bit() {
        let mut drain = Drain::new(at(0));
        drain.on_view(at(0), &view(1000), 0.02);
        assert_eq!(drain.next_timeout(), Some(at(2000)));
        assert!(drain.on_timeout(at(2000), 0.02, RTT));
        assert_eq!(drain.next_timeout(), Some(at(2090)));
        assert!(!drain.on_timeout(at(2090), 0.0, RTT) && !drain.is_on());
        assert_eq!(drain.next_timeout(), Some(at(4090)));
    }

    #[test]
    fn a_path_found_shorter_is_looked_for_again_soon_and_longer() {
        let mut drain = Drain::new(at(0));
        drain.on_view(at(0), &view(1000), 0.02);
        drain.on_timeout(at(2000), 0.02, RTT);
        drain.on_timeout(at(2090), 0.0, RTT);
        // 10 ms in units of 16 us.
        drain.on_view(at(2200), &view(1000 - 625), 0.02);
        assert_eq!(drain.next_timeout(), Some(at(2390)));
        drain.on_timeout(at(2390), 0.0, RTT);
        assert_eq!(drain.next_timeout(), Some(at(2490)));
    }

    #[test]
    fn it_joins_others_only_when_its_own_turn_is_near() {
        let mut drain = Drain::new(at(0));
        drain.on_view(at(0), &view(1000), 0.02);
        drain.join(at(1400), RTT);
        assert_eq!(drain.next_timeout(), Some(at(2000)));
        drain.join(at(1600), RTT);
        assert_eq!(drain.next_timeout(), Some(at(1600)));
    }
}
