//! Durations counted by size: percentiles without keeping every value.

use fanfare_proto::Duration;

/// Steps between a power of two and the next: a value is known to 1/64 of itself.
const STEPS: u64 = 64;

/// Counts of durations, in steps of at most 1.6 %.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    /// Nanoseconds of all.
    sum: u64,
}

impl Histogram {
    /// Counts one.
    pub fn add(&mut self, value: Duration) {
        let nanos = u64::try_from(value.as_nanos()).unwrap_or(u64::MAX);
        self.sum = self.sum.saturating_add(nanos);
        let step = step(nanos);
        if self.counts.len() <= step {
            self.counts.resize(step + 1, 0);
        }
        self.counts[step] += 1;
        self.total += 1;
    }
    /// How many were counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
    /// The mean of all, exact; zero of none.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.sum.checked_div(self.total).unwrap_or(0))
    }
    /// The least duration that `share` (0 to 1) of all do not exceed, to 1.6 %; zero of none.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Duration {
        let wanted = (share * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (step, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_nanos(lower(step as u64));
            }
        }
        Duration::ZERO
    }
}

/// Values below `STEPS` have a step each; above, `STEPS` of them to each power of two.
fn step(nanos: u64) -> usize {
    let Some(power) = nanos.checked_ilog2().filter(|_| nanos >= STEPS) else {
        return nanos as usize;
    };
    let shift = u64::from(power - STEPS.ilog2());
    ((shift + 1) * STEPS + ((nanos >> shift) - STEPS)) as usize
}

/// The least value of a step.
fn lower(step: u64) -> u64 {
    if step < STEPS {
        return step;
    }
    let shift = step / STEPS - 1;
    (step % STEPS + STEPS) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_known_to_a_sixty_fourth() {
        for nanos in [0, 1, 63, 64, 65, 1_000, 123_456_789, u64::MAX] {
            let known = lower(step(nanos) as u64);
            assert!(known <= nanos && nanos - known <= nanos / 64, "{nanos} {known}");
        }
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|ms| histogram.add(Duration::from_millis(ms)));
        for (share, ms) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = histogram.percentile(share).as_secs_f64() * 1000.0;
            assert!(found <= ms && found > ms * 0.98, "{share}: {found}");
        }
        assert_eq!(histogram.mean(), Duration::from_micros(500_500));
        let none = Histogram::default();
        assert_eq!((none.percentile(0.5), none.mean()), (Duration::ZERO, Duration::ZERO));
    }
}
