//! Amounts over time, in steps of 100 ms.

use core::ops::Range;
use fanfare_proto::{Duration, Time};

/// Length of a step: short enough to see a reaction within one round trip of a satellite, long
/// enough for a few packets at 1 Mbit/s.
pub const STEP: Duration = Duration::from_millis(100);

/// Bytes, or anything that adds up, for each 100 ms of a run. Steps in which nothing happens take no memory: a
/// day has 864,000 of them, and a flow that says something now and then has few.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    /// Those in which something was added, by time.
    steps: Vec<SeriesStep>,
}

/// One step, and its amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SeriesStep {
    number: usize,
    amount: u64,
}

impl Series {
    /// Adds `amount` at `now`.
    pub fn add(&mut self, now: Time, amount: u64) {
        *self.amount_at(now) += amount;
    }

    fn amount_at(&mut self, now: Time) -> &mut u64 {
        let number = step_of(now);
        // Time goes on: nearly always it is the last one, or a new one.
        let place = match self.steps.last() {
            Some(last) if last.number == number => self.steps.len() - 1,
            Some(last) if last.number > number => {
                self.steps.partition_point(|step| step.number < number)
            }
            _ => self.steps.len(),
        };
        if self.steps.get(place).is_none_or(|step| step.number != number) {
            self.steps.insert(place, SeriesStep { number, amount: 0 });
        }
        &mut self.steps[place].amount
    }
    /// Raises the step of `now` to `amount`, when that is more.
    pub fn raise(&mut self, now: Time, amount: u64) {
        let step = self.amount_at(now);
        *step = amount.max(*step);
    }
    /// The amount of one step; zero beyond the last.
    #[must_use]
    pub fn at(&self, step: usize) -> u64 {
        let found = self.steps.binary_search_by_key(&step, |step| step.number);
        found.map_or(0, |place| self.steps[place].amount)
    }
    /// Steps up to the last amount.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.last().map_or(0, |last| last.number + 1)
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
        let first = self.steps.partition_point(|step| step.number < start);
        let within = self.steps[first..].iter().take_while(|step| step.number < end);
        within.map(|step| step.amount).sum()
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
    fn a_day_in_which_little_happens_takes_memory_for_what_happens() {
        let mut series = Series::default();
        for n in 0..1000_u64 {
            series.add(Time::ZERO + Duration::from_secs(n * 86), 7);
        }
        assert_eq!((series.len(), series.steps.len()), (859_141, 1000));
        let mut late = series.clone();
        late.add(Time::ZERO + Duration::from_secs(43), 5);
        assert_eq!((late.at(430), late.at(431), late.at(860)), (5, 0, 7));
        assert_eq!(late.sum(&(ms(43_000)..ms(86_100))), 12);
        assert_eq!(late.len(), series.len());
    }

    #[test]
    fn a_step_can_keep_its_highest_value() {
        let mut series = Series::default();
        [3, 9, 4].iter().for_each(|value| series.raise(Time::ZERO + ms(150), *value));
        assert_eq!([series.at(0), series.at(1), series.at(2)], [0, 9, 0]);
    }
}
