//! When an agent's counters are read. Many agents keep a copy of their counters and renew it by a timer
//! of their own (net-snmp: each 3 s). Whoever reads such a copy at times of his own sees the traffic of
//! two or of three renewals in the same span. So some counters are asked for until they change, and the
//! table is read just after that.

use std::time::Duration;

/// A question follows the last one after so long at first: a renewal is found within half of it.
const STEP: Duration = Duration::from_millis(25);
/// The longer a renewal is waited for, the rarer the questions: one part of the time waited so far.
const STEP_PART: u32 = 40;
const STEP_MAX: Duration = Duration::from_secs(1);
/// Agents that renew their copy more seldom are not known: net-snmp had 15 s, some switches have 30 s.
const PERIOD_MAX: Duration = Duration::from_secs(35);
/// A renewal comes this much later than it should, as the agent is busy.
const LATE: Duration = Duration::from_secs(1);

/// What was found out about a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The next question goes after this time.
    AskIn(Duration),
    /// The counters were renewed at this time.
    Renewed(Duration),
    /// They change with each question: they are no copy.
    Live,
    /// They have not changed for so long that nothing passes.
    Still,
}

/// Renewals of one agent. Times are those since the agent is asked.
#[derive(Debug, Default)]
pub(super) struct RenewalPace {
    renewed: Option<Duration>,
    /// Time between renewals, or some of them.
    period: Option<Duration>,
}

impl RenewalPace {
    /// When to begin to ask, for a reading that is due at `due`: shortly before the next renewal.
    pub(super) fn begin(&self, due: Duration, every: Duration) -> Duration {
        let Some((renewed, period)) = self.renewed.zip(self.period) else { return due };
        let ahead = due.saturating_sub(renewed).as_secs_f64() / period.as_secs_f64();
        // A renewal that falls on the due time is not too early.
        let count = (ahead - 0.05).ceil().max(1.0) as u32;
        let expected = renewed + period * count;
        if expected > due + every {
            // The period may have been chance: it makes nobody wait for much longer than he said.
            return due;
        }
        expected.saturating_sub((STEP * (count + 2)).min(period / 2))
    }

    /// A renewal was found at this time.
    fn on_renewed(&mut self, at: Duration) {
        if let Some(renewed) = self.renewed {
            let apart = at.saturating_sub(renewed);
            let count = self.period.map_or(1.0, |period| {
                (apart.as_secs_f64() / period.as_secs_f64()).round().max(1.0)
            });
            self.period = Some(apart.div_f64(count)).filter(|one| !one.is_zero());
        }
        self.renewed = Some(at);
    }

    fn on_live(&mut self) {
        *self = Self::default();
    }

    /// Counters that have not changed for so long do not change.
    fn patience(&self) -> Duration {
        self.period.map_or(PERIOD_MAX, |period| (period * 2 + LATE).min(PERIOD_MAX))
    }
}

/// Questions for some counters, until they have changed.
#[derive(Debug)]
pub(super) struct RenewalHunt<T> {
    begun: Duration,
    last: Option<(Duration, T)>,
    /// The same was told twice.
    was_still: bool,
    /// They changed at once, at this time: perhaps by chance.
    changed: Option<Duration>,
}

impl<T: PartialEq> RenewalHunt<T> {
    pub(super) fn new(begun: Duration) -> Self {
        Self { begun, last: None, was_still: false, changed: None }
    }

    /// What the counters were at this time.
    pub(super) fn on_answer(&mut self, pace: &mut RenewalPace, at: Duration, told: T) -> Found {
        let Some((before, last)) = self.last.replace((at, told)) else {
            return Found::AskIn(STEP);
        };
        let is_same = self.last.as_ref().is_some_and(|(_, told)| *told == last);
        let middle = before + at.saturating_sub(before) / 2;
        let renewed = match (is_same, self.changed) {
            (true, None) => {
                self.was_still = true;
                let waited = at.saturating_sub(self.begun);
                return if waited >= pace.patience() {
                    Found::Still
                } else {
                    Found::AskIn((waited / STEP_PART).clamp(STEP, STEP_MAX))
                };
            }
            (true, Some(changed)) => changed,
            (false, _) if self.was_still => middle,
            (false, None) => {
                self.changed = Some(middle);
                return Found::AskIn(STEP);
            }
            (false, Some(_)) => {
                pace.on_live();
                return Found::Live;
            }
        };
        pace.on_renewed(renewed);
        Found::Renewed(renewed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    /// An agent that carries 1,000 bytes a millisecond, and renews its copy with this period and phase.
    fn counter(at: Duration, period: Duration, phase: Duration) -> u64 {
        let at = at + phase;
        let kept = if period.is_zero() {
            at.as_nanos()
        } else {
            at.as_nanos() / period.as_nanos() * period.as_nanos()
        };
        (kept / 1000) as u64
    }

    /// Rates of an even flow as they are told, as shares of the true one, for a minute and a half or
    /// for five readings.
    fn shares(period: Duration, phase: Duration, every: Duration, trip: Duration) -> Vec<f64> {
        let mut pace = RenewalPace::default();
        let mut now = 7 * MILLI;
        let mut base: Option<(Duration, u64)> = None;
        let mut shares = Vec::new();
        while shares.len() < 5 || now < Duration::from_secs(90) {
            let due = base.map_or(now, |(at, _)| at + every);
            now = now.max(pace.begin(due, every));
            let mut hunt = RenewalHunt::new(now);
            let moment = loop {
                now += trip;
                let told = counter(now.saturating_sub(trip / 2), period, phase);
                match hunt.on_answer(&mut pace, now, told) {
                    Found::AskIn(wait) => now += wait,
                    Found::Renewed(at) => break at,
                    Found::Live => break now + trip,
                    Found::Still => panic!("it changes"),
                }
            };
            now += trip;
            let told = counter(now.saturating_sub(trip / 2), period, phase);
            if let Some((at, before)) = base {
                let micros = moment.saturating_sub(at).as_micros() as f64;
                shares.push((told - before) as f64 / micros);
            }
            base = Some((moment, told));
        }
        shares
    }

    #[test]
    fn an_even_flow_is_told_within_5_percent_at_every_interval_and_for_every_agents_timer() {
        for period in [0, 1000, 3000, 3001, 5000, 10_000, 15_000, 30_000] {
            for every in [1, 2, 3, 5, 7, 10, 30, 60] {
                for phase in [0, 311, 1733] {
                    let shares = shares(
                        period * MILLI,
                        phase * MILLI,
                        Duration::from_secs(every),
                        2 * MILLI,
                    );
                    let bad = shares.iter().find(|share| (**share - 1.0).abs() > 0.05);
                    assert!(bad.is_none(), "{period} {every} {phase}: {shares:?}");
                }
            }
        }
    }

    #[test]
    fn over_a_long_way_the_error_is_no_more_than_a_round_trip_of_the_span() {
        for trip in [50_u32, 200, 600] {
            for period in [3000_u32, 15_000] {
                let shares =
                    shares(period * MILLI, 400 * MILLI, Duration::from_secs(5), trip * MILLI);
                let most = 0.05 + f64::from(trip) / f64::from(period);
                assert!(shares.iter().all(|share| (share - 1.0).abs() < most), "{trip} {shares:?}");
            }
        }
    }

    /// net-snmp renews its copy each 3 s; an agent without a copy has period 0.
    #[test]
    fn an_even_flow_is_told_within_5_percent_at_each_whole_interval_up_to_a_minute() {
        for every in 1..=60 {
            for (period, phase) in [(0, 0), (3000, 0), (3000, 777), (3000, 2999)] {
                let every = Duration::from_secs(every);
                let shares = shares(period * MILLI, phase * MILLI, every, 2 * MILLI);
                let bad = shares.iter().find(|share| (**share - 1.0).abs() > 0.05);
                assert!(bad.is_none(), "{period} {every:?} {phase}: {shares:?}");
            }
        }
    }

    #[test]
    fn counters_that_stand_still_are_asked_for_ever_more_seldom_and_given_up() {
        for (period, expected) in [(None, PERIOD_MAX), (Some(3000 * MILLI), 7000 * MILLI)] {
            let mut pace = RenewalPace { renewed: Some(MILLI), period };
            let mut hunt = RenewalHunt::new(Duration::ZERO);
            let (mut now, mut asked) = (Duration::ZERO, 0);
            while let Found::AskIn(wait) = hunt.on_answer(&mut pace, now, 5) {
                now += wait;
                asked += 1;
            }
            assert!(now >= expected && now <= expected + STEP_MAX, "{now:?}");
            assert!(asked < 250, "{asked}");
        }
    }

    #[test]
    fn questions_begin_shortly_before_the_renewal_that_is_due() {
        let seconds = Duration::from_secs_f64;
        let pace = RenewalPace { renewed: Some(seconds(10.0)), period: Some(seconds(3.0)) };
        for (due, every, expected) in [(15.0, 5.0, 15.9), (13.0, 3.0, 12.925), (11.0, 2.0, 12.925)]
        {
            assert_eq!(pace.begin(seconds(due), seconds(every)), seconds(expected), "{due}");
        }
        // A renewal far behind what was wanted is not slept for.
        let slow = RenewalPace { period: Some(seconds(30.0)), ..pace };
        assert_eq!(slow.begin(seconds(15.0), seconds(5.0)), seconds(15.0));
    }
}
