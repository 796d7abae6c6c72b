//! Amounts over time, in steps of 100 ms.

use core::ops::Range;
use fanfare_proto::{Duration, Time};

/// Length of a step: short enough to see a reaction within one round trip of a satellite, long
/// enough for a few packets at 1 Mbit/s.
pub const STEP: Duration = Duration::from_millis(100);

/// Bytes, or anything that adds up, for each 100 ms of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    steps: Vec<u64>,
}

impl Series {
    /// Adds `amount` at `now`.
    pub fn add(&mut self, now: Time, amount: u64) {
        let step = step_of(now);
        if self.steps.len() <= step {
            self.steps.resize(step + 1, 0);
        }
        self.steps[step] += amount;
    }
    /// Raises the step of `now` to `amount`, when that is more.
    pub fn raise(&mut self, now: Time, amount: u64) {
        self.add(now, 0);
        let step = &mut self.steps[step_of(now)];
        *step = amount.max(*step);
    }
    /// The amount of one step; zero beyond the last.
    #[must_use]
    pub fn at(&self, step: usize) -> u64 {
        self.steps.get(step).copied().unwrap_or(0)
    }
    /// Steps up to the last amount.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }
    /// Whether nothing was ever added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
    /// All of a window, whose ends are rounded down to whole steps.
    #[must_use]
    pub fn sum(&self, window: &Range<Duration>) -> u64 {
        let Range { start, end } = steps_of(window);
        let end = end.min(self.steps.len());
        self.steps.get(start..end).map_or(0, |steps| steps.iter().sum())
    }
    /// Bits per second over a window, when the amounts are bytes; zero of an empty window.
    #[must_use]
    pub fn bps(&self, window: &Range<Duration>) -> f64 {
        let seconds = steps_of(window).len() as f64 * STEP.as_secs_f64();
        if seconds > 0.0 { self.sum(window) as f64 * 8.0 / seconds } else { 0.0 }
    }
}

/// The step that `now` falls into.
#[must_use]
pub fn step_of(now: Time) -> usize {
    (now.as_nanos() / STEP.as_nanos() as u64) as usize
}

fn steps_of(window: &Range<Duration>) -> Range<usize> {
    let step = |at: Duration| step_of(Time::ZERO + at);
    step(window.start)..step(window.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_window_is_summed_by_whole_steps() {
        let mut series = Series::default();
        for n in 0..100 {
            series.add(Time::ZERO + ms(n * 10), 125);
        }
        assert_eq!(series.sum(&(ms(0)..ms(1_000))), 12_500);
        assert_eq!(series.bps(&(ms(200)..ms(450))), 100_000.0);
        assert_eq!(series.bps(&(ms(5_000)..ms(5_000))), 0.0);
    }

    #[test]
    fn a_step_can_keep_its_highest_value() {
        let mut series = Series::default();
        [3, 9, 4].iter().for_each(|value| series.raise(Time::ZERO + ms(150), *value));
        assert_eq!([series.at(0), series.at(1), series.at(2)], [0, 9, 0]);
    }
}
