//! The greatest round-trip time of the group (GRTT), estimated from probes (RFC 5740 5.5.1).
//!
//! A larger sample raises the estimate at once. Otherwise it decays slowly, one step for each
//! probe. Only the first samples may lower it at once, because the initial value is a guess and
//! often far too high.

use fanfare_wire::units::time::{Duration, Time};

/// Weight of the old estimate when a larger sample raises it (NRL's value).
const KEEP_ON_RAISE: f64 = 0.25;
/// What a step of decay leaves (NRL's value).
const DECAY: f64 = 0.9;
/// The same where all receivers are known and few, and some have been measured since: each answers at
/// once, so the largest of their samples is the group's. A queue that a start has filled would otherwise
/// be paid for with tens of its own length.
const DECAY_OF_FEW: f64 = 0.5;
/// How far the estimate may rise within one GRTT: a forged sample must not silence the group.
const RAISE_LIMIT: f64 = 2.0;
/// The first collection's largest sample may be a lucky one.
const FIRST_MARGIN: f64 = 2.0;

/// The same when all who are expected have answered: nobody farther away is to be reckoned with.
const SETTLED_MARGIN: f64 = 1.25;

/// What the estimate stays within, and what one receiver changes.
#[derive(Debug, Clone, Copy)]
pub struct GrttLimits {
    /// The least estimate.
    pub min: Duration,
    /// The greatest estimate.
    pub max: Duration,
    /// There is one receiver: its samples count whether larger or not.
    pub unicast: bool,
    /// Decay at most once in this time, and not more often than once per GRTT.
    pub decay_interval: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// No sample yet: the configured guess.
    Unmeasured,
    /// The first answers are coming in.
    Collecting {
        until: Time,
        largest: f64,
    },
    Measured,
}

/// The estimate, in seconds.
#[derive(Debug)]
pub struct Grtt {
    limits: GrttLimits,
    estimate: f64,
    state: State,
    /// Largest sample since the last decay.
    peak: f64,
    decayed: Time,
    /// Since when, and from what, the rise is counted.
    raise_from: (Time, f64),
}

impl Grtt {
    /// An estimate of `initial` until the first sample.
    #[must_use]
    pub fn new(now: Time, initial: Duration, limits: GrttLimits) -> Self {
        let estimate = initial.clamp(limits.min, limits.max.max(limits.min)).as_secs_f64();
        Self {
            limits,
            estimate,
            state: State::Unmeasured,
            peak: 0.0,
            decayed: now,
            raise_from: (now, estimate),
        }
    }

    /// The estimate.
    pub fn estimate(&self) -> Duration {
        Duration::from_secs_f64(self.estimate)
    }

    /// Whether the estimate is no longer the guess that it began with.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.state == State::Measured
    }

    /// A receiver's round-trip time was measured.
    pub fn on_sample(&mut self, now: Time, rtt: Duration) {
        let sample = self.bounded(now, rtt.as_secs_f64());
        match &mut self.state {
            State::Unmeasured => {
                let until = now + Duration::from_secs_f64(self.estimate);
                self.state = State::Collecting { until, largest: sample };
            }
            State::Collecting { largest, .. } => *largest = largest.max(sample),
            State::Measured if sample > self.estimate || self.limits.unicast => {
                self.set(KEEP_ON_RAISE * self.estimate + (1.0 - KEEP_ON_RAISE) * sample);
            }
            State::Measured => {}
        }
        self.peak = self.peak.max(sample);
        self.poll(now);
    }

    fn bounded(&mut self, now: Time, sample: f64) -> f64 {
        if now.since(self.raise_from.0).as_secs_f64() >= self.raise_from.1 {
            self.raise_from = (now, self.estimate);
        }
        sample.min(RAISE_LIMIT * self.raise_from.1)
    }

    fn set(&mut self, estimate: f64) {
        let (min, max) = (self.limits.min.as_secs_f64(), self.limits.max.as_secs_f64());
        self.estimate = estimate.clamp(min, max.max(min));
    }

    /// All who are expected have answered: the first collection, if there is one, ends now.
    pub fn settle(&mut self, now: Time) {
        if let State::Collecting { largest, .. } = self.state {
            self.measured(now, SETTLED_MARGIN * largest);
        }
    }

    fn measured(&mut self, now: Time, estimate: f64) {
        self.state = State::Measured;
        self.set(estimate);
        self.decayed = now;
    }

    /// Ends the first collection when its time has come.
    pub fn poll(&mut self, now: Time) {
        if let State::Collecting { until, largest } = self.state
            && until <= now
        {
            self.measured(now, FIRST_MARGIN * largest);
        }
    }

    /// A probe goes out. `few`: all receivers are known, and few.
    pub fn on_probe(&mut self, now: Time, few: bool) {
        let due = now.since(self.decayed) >= self.estimate().max(self.limits.decay_interval);
        if self.state == State::Measured && due {
            let decay = if few && self.peak > 0.0 { DECAY_OF_FEW } else { DECAY };
            self.set(self.peak.max(decay * self.estimate).min(self.estimate));
            (self.peak, self.decayed) = (0.0, now);
        }
    }

    /// When [`Self::poll`] has something to do.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        match self.state {
            State::Collecting { until, .. } => Some(until),
            State::Unmeasured | State::Measured => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn grtt(unicast: bool) -> Grtt {
        let limits = GrttLimits { min: ms(10), max: ms(10_000), unicast, decay_interval: ms(0) };
        Grtt::new(Time::ZERO, ms(250), limits)
    }

    fn measured(first: u64) -> Grtt {
        let mut grtt = grtt(false);
        grtt.on_sample(Time::ZERO, ms(first));
        grtt.poll(Time::ZERO + ms(250));
        grtt
    }

    #[test]
    fn the_first_collection_replaces_the_guess_by_twice_its_largest_sample() {
        let mut grtt = grtt(false);
        grtt.on_sample(Time::ZERO, ms(5));
        grtt.on_sample(Time::ZERO + ms(100), ms(20));
        assert_eq!(grtt.next_timeout(), Some(Time::ZERO + ms(250)));
        assert_eq!(grtt.estimate(), ms(250));
        grtt.poll(Time::ZERO + ms(250));
        assert_eq!((grtt.estimate(), grtt.next_timeout()), (ms(40), None));
    }

    #[test]
    fn the_first_collection_ends_when_all_expected_receivers_have_answered() {
        let mut grtt = grtt(false);
        grtt.settle(Time::ZERO);
        assert_eq!(grtt.estimate(), ms(250), "nothing was measured");
        grtt.on_sample(Time::ZERO, ms(5));
        grtt.settle(Time::ZERO + ms(1));
        assert_eq!((grtt.estimate(), grtt.next_timeout()), (ms(10), None), "at least");
        let mut far = self::grtt(false);
        far.on_sample(Time::ZERO, ms(40));
        far.settle(Time::ZERO + ms(1));
        assert_eq!(far.estimate(), ms(50));
    }

    #[test]
    fn a_larger_sample_raises_quickly_and_probes_let_it_decay() {
        let mut grtt = measured(50);
        assert_eq!(grtt.estimate(), ms(100));
        grtt.on_sample(Time::ZERO + ms(400), ms(180));
        assert_eq!(grtt.estimate(), ms(160));
        grtt.on_probe(Time::ZERO + ms(1000), false);
        assert_eq!(grtt.estimate(), ms(160), "the peak holds it");
        grtt.on_probe(Time::ZERO + ms(2000), true);
        assert_eq!(grtt.estimate(), ms(144), "nobody was measured");
        grtt.on_sample(Time::ZERO + ms(2400), ms(20));
        grtt.on_probe(Time::ZERO + ms(3000), true);
        assert_eq!(grtt.estimate(), ms(72));
    }

    #[test]
    fn one_node_cannot_raise_it_by_more_than_twice_per_grtt() {
        let mut grtt = measured(50);
        for i in 0..50 {
            grtt.on_sample(Time::ZERO + ms(400 + i), ms(9000));
        }
        assert!(grtt.estimate() <= ms(200), "{:?}", grtt.estimate());
    }

    #[test]
    fn it_stays_within_its_limits() {
        assert_eq!(measured(1).estimate(), ms(10));
        let mut grtt = measured(50);
        for i in 0..50 {
            grtt.on_sample(Time::ZERO + ms(10_000 * (1 + i)), ms(60_000));
        }
        assert_eq!(grtt.estimate(), ms(10_000));
    }

    #[test]
    fn with_one_receiver_a_smaller_sample_lowers_it_at_once() {
        let mut grtt = grtt(true);
        grtt.on_sample(Time::ZERO, ms(50));
        grtt.poll(Time::ZERO + ms(250));
        grtt.on_sample(Time::ZERO + ms(400), ms(20));
        assert_eq!(grtt.estimate(), ms(40));
    }
}
