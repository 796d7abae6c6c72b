//! CMD(CC): when to probe, and what the echo of a probe tells (RFC 5740 4.2.3.4, 5.5.1).

use crate::{
    rng::Rng,
    time::{Duration, Time},
};
use alloc::collections::VecDeque;
use fanfare_wire::header::SendTime;

/// Probes sent a GRTT apart at the start, before the interval grows.
const FIRST_PROBES: u32 = 4;
/// Growth of the interval (RFC 5740 5.5.1; NRL's is 1.5).
const GROWTH: u32 = 2;
/// Probes that go for nothing but to measure: in some seconds each of a few receivers has heard one.
const TRIES: u32 = 16;
/// A probe that was sent so lately still serves.
const FRESH: Duration = Duration::from_millis(50);
/// Who has not answered for long is not asked more often than this.
const FRESH_MAX: Duration = Duration::from_millis(500);
/// Our clock begins at zero, which on the wire would say "no probe heard".
const CLOCK_OFFSET: Duration = Duration::from_secs(1);
/// A probe's clock is told in microseconds: nothing shorter can be measured.
const RTT_MIN: Duration = Duration::from_micros(1);

/// Probes whose echo is believed. A receiver that does not limit waits for up to six GRTT before it
/// reports, and with `auto` a probe goes twice in a round trip; the rest is for lost ones. A report
/// of an older probe is a replay or a forgery.
const PLAUSIBLE: usize = 64;

/// The probing machine.
#[derive(Debug)]
pub(in crate::sender) struct Probe {
    next: Time,
    interval: Duration,
    sent: u32,
    first_sent: Option<Time>,
    last: Option<Time>,
    sequence: u16,
    bounds: (Duration, Duration),
    /// The shortest interval that was requested at first.
    least: Duration,
    /// When the last probes were sent, the latest last.
    sent_at: VecDeque<(u16, Time)>,
}

impl Probe {
    /// Intervals stay within `min` and `max` once settled.
    pub(in crate::sender) fn new(now: Time, min: Duration, max: Duration, rng: &mut Rng) -> Self {
        Self {
            next: now,
            interval: Duration::ZERO,
            sent: 0,
            first_sent: None,
            last: None,
            sequence: rng.next_u64() as u16,
            bounds: (min, max.max(min)),
            least: min,
            sent_at: VecDeque::new(),
        }
    }

    /// Settled intervals begin with `min` from now on, if that is more than was said at first, and grow up to `max`.
    pub(in crate::sender) fn set_range(&mut self, min: Duration, max: Duration) {
        let min = min.max(self.least);
        self.bounds = (min, max.max(min));
    }

    /// When the next probe is due; only asked while there is something to do.
    pub(in crate::sender) fn due_at(&self) -> Time {
        self.next
    }

    /// When another is of use although none is due yet: each time as long again as it has been tried.
    pub(in crate::sender) fn renewable_at(&self) -> Time {
        let tried = self.last.zip(self.first_sent).map(|(last, first)| (last, last.since(first)));
        tried.map_or(self.next, |(last, tried)| last + tried.clamp(FRESH, FRESH_MAX))
    }

    /// Whether another is worthwhile where nothing is sent yet.
    pub(in crate::sender) fn is_trying(&self) -> bool {
        self.sent < TRIES
    }

    /// Somebody is there who may not have heard the last one: another goes soon.
    pub(in crate::sender) fn renew(&mut self, now: Time) {
        let fresh = self.last.map_or(now, |last| last + FRESH);
        self.next = self.next.min(fresh.max(now));
    }

    /// Probes go each `interval` now: the next does not wait for what was a guess.
    pub(in crate::sender) fn hasten(&mut self, now: Time, interval: Duration) {
        self.next = self.next.min(now + interval);
    }

    /// `cc_sequence` of the probe sent last.
    pub(in crate::sender) fn sequence(&self) -> u16 {
        self.sequence
    }

    /// A probe goes out now: its `cc_sequence` and clock. The next follows after `interval` where
    /// the rate hangs on it; otherwise, after the first few, not before `least`.
    pub(in crate::sender) fn on_sent(
        &mut self,
        now: Time,
        (grtt, least): (Duration, Duration),
        interval: Option<Duration>,
    ) -> (u16, SendTime) {
        self.sequence = self.sequence.wrapping_add(1);
        self.sent = self.sent.saturating_add(1);
        self.interval = if let Some(interval) = interval {
            interval
        } else if self.sent < FIRST_PROBES {
            grtt
        } else {
            let (min, max) = self.bounds;
            (self.interval * GROWTH).max(least).clamp(min, max)
        };
        self.next = now + self.interval;
        self.last = Some(now);
        if self.sent_at.len() >= PLAUSIBLE {
            self.sent_at.pop_front();
        }
        self.sent_at.push_back((self.sequence, now));
        self.first_sent.get_or_insert(now);
        (self.sequence, wire_time(now))
    }

    /// Whether a report of this `cc_sequence` can be true: that probe was sent lately, and its clock, if
    /// it comes back, not set back to before it.
    pub(in crate::sender) fn is_plausible(&self, sequence: u16, echo: Option<SendTime>) -> bool {
        let sent = self.sent_at.iter().rev().find(|(sent, _)| *sent == sequence);
        let clock = |time: SendTime| (time.seconds, time.micros);
        sent.is_some_and(|(_, at)| echo.is_none_or(|echo| clock(echo) >= clock(wire_time(*at))))
    }

    /// The round-trip time that an echo tells; `None` when no probe of ours can have caused it.
    pub(in crate::sender) fn rtt(
        &self,
        now: Time,
        echo: SendTime,
        longest: Duration,
    ) -> Option<Duration> {
        let echoed = Duration::from_secs(u64::from(echo.seconds))
            + Duration::from_micros(u64::from(echo.micros));
        let nanos = u64::try_from(echoed.checked_sub(CLOCK_OFFSET)?.as_nanos()).ok()?;
        let caused = Time::from_nanos(nanos);
        // The wire cuts the clock to microseconds: the first probe's echo may lie just before it.
        let possible = self.first_sent? <= caused + RTT_MIN && caused <= now;
        let rtt = now.since(caused).max(RTT_MIN);
        (possible && rtt <= longest).then_some(rtt)
    }
}

/// Our clock as it travels.
fn wire_time(now: Time) -> SendTime {
    let clock = Duration::from_nanos(now.as_nanos()) + CLOCK_OFFSET;
    SendTime { seconds: clock.as_secs() as u32, micros: clock.subsec_micros() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn probe() -> Probe {
        Probe::new(Time::ZERO, ms(1000), ms(30_000), &mut Rng::new(1))
    }

    #[test]
    fn probes_begin_a_grtt_apart_and_settle_between_their_bounds() {
        let mut probe = probe();
        let mut intervals = Vec::new();
        for _ in 0..16 {
            let now = probe.due_at();
            probe.on_sent(now, (ms(100), ms(0)), None);
            intervals.push(probe.due_at().since(now));
        }
        assert_eq!(intervals[..5], [ms(100), ms(100), ms(100), ms(1000), ms(2000)]);
        assert_eq!(intervals[15], ms(30_000));
    }

    #[test]
    fn a_probe_that_is_wanted_sooner_is_sent_again_after_twice_the_time() {
        let mut probe = probe();
        let mut again = || {
            let now = probe.renewable_at();
            probe.on_sent(now, (ms(100), ms(0)), None);
            now.since(Time::ZERO)
        };
        let at = [(); 7].map(|()| again());
        assert_eq!(at, [0, 50, 100, 200, 400, 800, 1300].map(ms));
    }

    #[test]
    fn a_probe_scheduled_by_a_guess_is_rescheduled_by_the_measured_path() {
        let due = |interval| {
            let mut probe = probe();
            probe.on_sent(Time::ZERO, (ms(250), ms(0)), Some(ms(77)));
            probe.hasten(Time::ZERO + ms(20), interval);
            probe.due_at().since(Time::ZERO)
        };
        assert_eq!(due(ms(5)), ms(25));
        assert_eq!(due(ms(30)), ms(50));
        assert_eq!(due(ms(80)), ms(77), "it is due before");
    }

    #[test]
    fn on_a_slow_line_probes_are_rarer_but_for_the_first() {
        let mut probe = probe();
        let mut next = |least| {
            let now = probe.due_at();
            probe.on_sent(now, (ms(100), least), None);
            probe.due_at().since(now)
        };
        assert_eq!([(); 4].map(|()| next(ms(9000))), [100, 100, 100, 9000].map(ms));
        assert_eq!(next(ms(90_000)), ms(30_000));
    }

    #[test]
    fn an_echo_tells_the_round_trip_time() {
        let mut probe = probe();
        let (_, clock) = probe.on_sent(Time::ZERO, (ms(100), ms(0)), None);
        assert_ne!((clock.seconds, clock.micros), (0, 0));
        assert_eq!(probe.rtt(Time::ZERO + ms(30), clock, ms(1000)), Some(ms(30)));
    }

    #[test]
    fn a_report_of_a_probe_that_was_not_sent_lately_or_with_an_older_clock_is_not_plausible() {
        let mut probe = probe();
        let sent: Vec<(u16, SendTime)> = (0..100)
            .map(|n| probe.on_sent(Time::ZERO + ms(n * 10), (ms(10), ms(0)), Some(ms(10))))
            .collect();
        let ((last, clock), (old, _), (first, early)) = (sent[99], sent[35], sent[0]);
        assert!(probe.is_plausible(last, Some(clock)) && probe.is_plausible(last, None));
        assert!(probe.is_plausible(sent[36].0, None) && !probe.is_plausible(old, None));
        assert!(!probe.is_plausible(first, Some(early)) && !probe.is_plausible(last, Some(early)));
        assert!(!probe.is_plausible(last.wrapping_add(1), None), "it has not been sent");
    }

    #[test]
    fn echoes_of_future_unknown_or_old_probes_are_ignored() {
        let mut probe = probe();
        let (_, early) = probe.on_sent(Time::ZERO + ms(500), (ms(100), ms(0)), None);
        assert_eq!(probe.rtt(Time::ZERO + ms(400), early, ms(1000)), None);
        assert_eq!(probe.rtt(Time::ZERO + ms(2000), early, ms(1000)), None);
        let before = SendTime { seconds: 1, micros: 300_000 };
        assert_eq!(probe.rtt(Time::ZERO + ms(600), before, ms(1000)), None);
        assert_eq!(probe.rtt(Time::ZERO, SendTime { seconds: 0, micros: 1 }, ms(1000)), None);
    }
}
