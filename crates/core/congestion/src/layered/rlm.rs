//! RLM: tries one layer more now and then, and drops it if that causes loss (McCanne, Jacobson and
//! Vetterli 1996; thesis 4.2). The thesis gives no figures; these are from ns-2 (rlm.tcl).
//!
//! In the original, receivers tell each other of their experiments. Here each learns for itself.

use super::{Arrival, LayeredController, SessionParameters};
use alloc::vec::Vec;
use fanfare_wire::units::{
    rng::Rng,
    time::{Duration, Time},
};

/// Join timers of a layer: first and least, most, after a failure, after a success.
const JOIN: Duration = Duration::from_secs(5);
const JOIN_MAX: Duration = Duration::from_secs(60);
const BACK_OFF: u32 = 2;
const RELAX: f64 = 0.75;
/// How long after a join loss is thought to come of it; each failure moves it a quarter of the way.
const DETECTION: Duration = Duration::from_secs(5);
const DETECTION_GAIN: f64 = 0.25;
/// Loss that costs a layer though nobody here tried anything.
const LOSS_MAX: f64 = 0.25;
const PACKETS_MIN: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is wrong.
    Steady,
    /// There was loss: it may be another's experiment, and pass.
    Hysteresis,
    /// It may have passed: is there still loss?
    Measuring,
    /// A layer was dropped: what it caused must drain.
    Dropped,
}

/// An RLM receiver.
#[derive(Debug)]
pub struct Rlm {
    rng: Rng,
    level: usize,
    state: State,
    state_ends: Time,
    /// Join timer of each level that may be joined.
    timers: Vec<Duration>,
    join_at: Time,
    /// When the newest layer was joined, while it is on trial.
    trial: Option<Time>,
    detection: Duration,
    received: u32,
    lost: u32,
}

impl Rlm {
    /// With the base layer.
    #[must_use]
    pub fn new(now: Time, terms: SessionParameters, rng: Rng) -> Self {
        let mut rlm = Self {
            rng,
            level: 1,
            state: State::Steady,
            state_ends: Time::FAR_FUTURE,
            timers: alloc::vec![JOIN; terms.layers.count()],
            join_at: now,
            trial: None,
            detection: DETECTION,
            received: 0,
            lost: 0,
        };
        rlm.plan_join(now);
        rlm
    }

    /// Half the timer, and a random time that is the timer on average.
    fn plan_join(&mut self, now: Time) {
        let Some(timer) = self.timers.get(self.level) else {
            self.join_at = Time::FAR_FUTURE;
            return;
        };
        let random = -libm::log(1.0 - self.rng.unit());
        self.join_at = now + *timer / 2 + timer.mul_f64(random.min(3.0));
    }

    fn enter(&mut self, now: Time, state: State) {
        self.state = state;
        (self.received, self.lost) = (0, 0);
        self.state_ends = match state {
            State::Steady => Time::FAR_FUTURE,
            _ => now + self.detection,
        };
    }

    fn drop_layer(&mut self, now: Time) {
        self.level = (self.level - 1).max(1);
        self.trial = None;
        self.enter(now, State::Dropped);
        self.plan_join(now);
    }

    fn fail_trial(&mut self, now: Time, since: Time) {
        let took = now.since(since).as_secs_f64();
        let old = self.detection.as_secs_f64();
        self.detection = Duration::from_secs_f64(old + DETECTION_GAIN * (took - old));
        let timer = &mut self.timers[self.level - 1];
        *timer = (*timer * BACK_OFF).min(JOIN_MAX);
        self.drop_layer(now);
    }

    fn on_state_end(&mut self, now: Time) {
        match self.state {
            State::Hysteresis => self.enter(now, State::Measuring),
            _ => self.enter(now, State::Steady),
        }
    }
}

impl LayeredController for Rlm {
    fn on_packet(&mut self, now: Time, arrival: &Arrival) {
        self.received += 1;
        self.lost += arrival.lost;
        let packets = self.received + self.lost;
        match self.state {
            State::Steady if arrival.lost > 0 => match self.trial {
                Some(since) => self.fail_trial(now, since),
                None => self.enter(now, State::Hysteresis),
            },
            State::Measuring
                if packets >= PACKETS_MIN
                    && f64::from(self.lost) > LOSS_MAX * f64::from(packets) =>
            {
                self.drop_layer(now);
            }
            _ => {}
        }
    }
    fn on_timeout(&mut self, now: Time) {
        if self.state_ends <= now {
            self.on_state_end(now);
        }
        if self.trial.is_some_and(|since| now.since(since) >= self.detection) {
            self.trial = None;
            let timer = &mut self.timers[self.level - 1];
            *timer = timer.mul_f64(RELAX).max(JOIN);
        }
        if self.join_at <= now {
            // An experiment beside another node's would tell nothing.
            if self.state == State::Steady && self.trial.is_none() && self.level < self.timers.len()
            {
                self.level += 1;
                self.trial = Some(now);
            }
            self.plan_join(now);
        }
    }
    fn next_timeout(&self) -> Option<Time> {
        let trial = self.trial.map_or(Time::FAR_FUTURE, |since| since + self.detection);
        Some(self.join_at.min(self.state_ends).min(trial))
    }
    fn level(&self) -> usize {
        self.level
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{arrival, terms};
    use super::*;

    fn joined() -> (Rlm, Time) {
        let mut rlm = Rlm::new(Time::ZERO, terms(), Rng::new(1));
        let at = rlm.next_timeout().unwrap();
        rlm.on_timeout(at);
        assert_eq!(rlm.level(), 2);
        (rlm, at)
    }
    fn lose(rlm: &mut Rlm, now: Time, lost: u32) {
        rlm.on_packet(now, &Arrival { lost, ..arrival(0).1 });
    }

    #[test]
    fn loss_after_a_join_takes_it_back_and_the_next_try_comes_later() {
        let (mut rlm, at) = joined();
        lose(&mut rlm, at + Duration::from_secs(1), 1);
        assert_eq!((rlm.level(), rlm.timers[1]), (1, JOIN * BACK_OFF));
        // It knows now that loss shows sooner than after five seconds.
        assert_eq!(rlm.detection, Duration::from_secs(4));
    }

    #[test]
    fn a_join_without_loss_stays() {
        let (mut rlm, at) = joined();
        while rlm.next_timeout().unwrap() <= at + DETECTION {
            let next = rlm.next_timeout().unwrap();
            rlm.on_timeout(next);
        }
        lose(&mut rlm, at + DETECTION * 2, 1);
        assert!(rlm.level() >= 2 && rlm.state == State::Hysteresis, "{rlm:?}");
    }

    #[test]
    fn persistent_loss_costs_a_layer_and_short_loss_does_not() {
        for (lost, level) in [(1, 1), (0, 2)] {
            let (mut rlm, at) = joined();
            rlm.trial = None;
            lose(&mut rlm, at + DETECTION, 1);
            rlm.join_at = Time::FAR_FUTURE;
            rlm.on_timeout(rlm.state_ends);
            assert_eq!(rlm.state, State::Measuring);
            (0..20).for_each(|_| lose(&mut rlm, at + DETECTION * 3, lost));
            assert_eq!(rlm.level(), level);
        }
    }
}
