//! A bound on what was sent and not reported on: whatever is believed of a path, only what has come through
//! it shows what it carries.
//!
//! A shaper with a bucket of 64 kB lets the first messages pass at the speed of its cable. What follows at that
//! speed is dropped, and the report that would say so waits behind it. So at the start no more is on the way than
//! twice what has arrived, as in TCP's slow start; later, than twice what arrives in a round trip and a moment.
//! Beyond that the rate falls with the time that nothing is heard.

use fanfare_wire::units::time::{Duration, Time};

/// What may be on the way, of all that has arrived at the start, and of what arrives in a round trip later: a window
/// that doubles (RFC 5681 3.1).
const FACTOR: f64 = 2.0;
/// The same where pairs of messages tell of room, and the rate grows fourfold in a round trip
/// ([`super::growth`]).
const FACTOR_WITH_ROOM: f64 = 4.0;
/// Time that a report may be late, beside a round trip: a busy machine keeps a receiver from its processor for as long.
pub(super) const LATE: Duration = Duration::from_millis(250);
/// Messages that may always be on the way: twice RFC 6928's initial window, as in a first flight.
const LEAST_MESSAGES: f64 = 20.0;
/// Part of it that may go without a probe.
const UNASKED: f64 = 0.5;
/// Part of the bound that goes in each time as long as nothing has been heard, beyond it.
const BEYOND: f64 = 0.25;

/// Bytes on the way.
#[derive(Debug, Default)]
pub(super) struct OutstandingBytes {
    /// All that were sent, and those of them that the last report is about.
    sent: u64,
    reported: u64,
    /// Bytes that have arrived.
    arrived: f64,
    /// All that were sent when the last probe went: what follows was not asked about.
    asked: u64,
    probed: Time,
    /// Time at which the first message since the last report went.
    first: Option<Time>,
}

/// Values that the bound depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundInputs {
    /// Bytes of a message.
    pub(super) size: f64,
    /// Bytes of the first messages, which go until a report can have come.
    pub(super) first: f64,
    /// The round trip, and the time between two probes.
    pub(super) span: Duration,
    /// Bytes a second that arrive, once the start is over.
    pub(super) passed: Option<f64>,
    /// Pairs of messages are measured.
    pub(super) pairs: bool,
}

impl OutstandingBytes {
    /// A message goes out.
    pub(super) fn on_sent(&mut self, now: Time, bytes: usize) {
        self.sent += bytes as u64;
        self.first.get_or_insert(now);
    }

    /// A probe goes out: a report will tell of all before it.
    pub(super) fn on_probe(&mut self, now: Time) {
        (self.asked, self.probed) = (self.sent, now);
    }

    /// Bytes that were sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// A report of the one that limits is about all but the last `since` bytes, of which this part had `arrived` by
    /// then.
    pub(super) fn on_report(&mut self, since: u64, arrived: f64) {
        let until = self.sent.saturating_sub(since);
        if until > self.reported {
            self.arrived += (until - self.reported) as f64 * arrived;
            self.reported = until;
            self.first = None;
        }
    }

    /// Forgets what has arrived so far: it says nothing of what will.
    pub(super) fn begin_anew(&mut self) {
        self.arrived = 0.0;
    }

    /// Something went before the last probe that no report has told of.
    pub(super) fn is_asked(&self) -> bool {
        self.asked > self.reported
    }

    /// Bytes that may be on the way.
    fn allowed(&self, bound: BoundInputs) -> f64 {
        let span = (bound.span + LATE).as_secs_f64();
        let factor = if bound.pairs { FACTOR_WITH_ROOM } else { FACTOR };
        let arrived = bound.passed.map_or(self.arrived, |passed| passed * span);
        (factor * arrived).max((LEAST_MESSAGES * bound.size).max(bound.first))
    }

    /// True when the last probe was long ago, and half of what may be on the way was sent since. Where somebody
    /// sends a little each second, no report tells of it otherwise, and it would have to wait in the end.
    pub(super) fn wants_probe(&self, now: Time, bound: BoundInputs) -> bool {
        let late = now.since(self.probed) > bound.span + LATE;
        let unasked = (self.sent - self.asked) as f64;
        self.reported > 0 && late && unasked >= UNASKED * self.allowed(bound)
    }

    /// The most that may be sent now, bytes a second, where more is on the way than has a right to be. Nothing
    /// bounds it before the first report, nor where nobody has been asked since the last one.
    pub(super) fn most(&self, now: Time, bound: BoundInputs) -> Option<f64> {
        if self.reported == 0 {
            return None;
        }
        let allowed = self.allowed(bound);
        let silent = now.since(self.first?).max(bound.span);
        let beyond = (self.sent - self.reported) as f64 >= allowed;
        (beyond && self.is_asked()).then(|| BEYOND * allowed / silent.as_secs_f64().max(1e-4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    const MS: Duration = Duration::from_millis(1);
    const START_BOUND: BoundInputs =
        BoundInputs { size: 1000.0, first: 0.0, span: MS, passed: None, pairs: false };

    /// Bytes sent at `rate` bytes a second, a message each time, with no report after the first of 20 messages.
    fn sent_into_a_hole(bound: BoundInputs, rate: f64, seconds: f64) -> f64 {
        let mut outstanding = OutstandingBytes::default();
        (0..20).for_each(|_| outstanding.on_sent(at(0), 1000));
        outstanding.on_report(0, 1.0);
        let (mut time, mut sent) = (0.0, 0.0);
        while time < seconds {
            let now = Time::ZERO + Duration::from_secs_f64(time);
            outstanding.on_sent(now, 1000);
            if sent <= 1000.0 {
                outstanding.on_probe(now);
            }
            sent += 1000.0;
            time += 1000.0 / outstanding.most(now, bound).unwrap_or(rate).min(rate);
        }
        sent
    }

    #[test]
    fn into_a_hole_go_at_the_start_twice_what_has_arrived_and_little_more() {
        let sent = sent_into_a_hole(START_BOUND, 6e6, 1.0);
        assert!((40_000.0..120_000.0).contains(&sent), "{sent}");
        let tenfold = sent_into_a_hole(START_BOUND, 6e6, 10.0);
        assert!(tenfold - sent < 50_000.0, "{sent} {tenfold}");
    }

    #[test]
    fn later_what_arrives_in_half_a_second_and_a_quarter_of_that_in_each_time_that_is_as_long() {
        let bound = BoundInputs { passed: Some(1e6), ..START_BOUND };
        let sent = sent_into_a_hole(bound, 1e6, 1.0);
        assert!((500_000.0..700_000.0).contains(&sent), "{sent}");
        let sent = sent_into_a_hole(bound, 1e6, 60.0);
        assert!(sent < 1_300_000.0, "{sent}");
    }

    #[test]
    fn what_is_reported_on_is_not_on_the_way_and_idle_time_is_no_silence() {
        let mut outstanding = OutstandingBytes::default();
        (0..30).for_each(|_| outstanding.on_sent(at(0), 1000));
        assert_eq!(outstanding.most(at(9000), START_BOUND), None, "nothing was heard yet");
        outstanding.on_report(0, 0.5);
        for n in 0..20 {
            assert_eq!(outstanding.most(at(60_000 + n), START_BOUND), None);
            outstanding.on_sent(at(60_000 + n), 1000);
        }
        // Half of 30 have arrived, so that 30 may be on the way.
        (0..10).for_each(|_| outstanding.on_sent(at(60_020), 1000));
        assert_eq!(outstanding.most(at(60_020), START_BOUND), None, "nobody was asked");
        outstanding.on_probe(at(60_020));
        let most = outstanding.most(at(60_030), START_BOUND).unwrap();
        assert!((most - 0.25 * 30_000.0 / 0.03).abs() < 1.0, "{most}");
        outstanding.on_report(9000, 1.0);
        assert_eq!(outstanding.most(at(60_030), START_BOUND), None);
    }

    #[test]
    fn who_sends_a_little_each_second_is_asked_about_before_it_has_to_wait() {
        let mut outstanding = OutstandingBytes::default();
        (0..20).for_each(|_| outstanding.on_sent(at(0), 1000));
        outstanding.on_report(0, 1.0);
        let mut probes = 0;
        for second in 1..60 {
            for _ in 0..8 {
                assert_eq!(outstanding.most(at(1000 * second), START_BOUND), None);
                outstanding.on_sent(at(1000 * second), 1000);
                if outstanding.wants_probe(at(1000 * second), START_BOUND) {
                    outstanding.on_probe(at(1000 * second));
                    outstanding.on_report(0, 1.0);
                    probes += 1;
                }
            }
        }
        assert!(probes > 1, "{probes}");
    }
}
