//! The rate above which somebody drops, as a policer does: it passes a rate, and the rest is lost without a
//! queue.
//!
//! A lower rate has shown it. From then on the rate stays below, and goes up slowly at first, so that
//! a policer costs a few messages now and then. What has gone, or was chance, is soon no limit.

use fanfare_units::time::Time;

/// What is sent of what passed: a bucket fills again, and what is repaired has room.
const BELOW: f64 = 0.97;
/// It goes up by this part in the first second, and by this part more in each further one.
const STEP: f64 = 0.05;
/// Above so many times what it was it is forgotten.
const FORGOTTEN: f64 = 4.0;

/// What passed, and when that was seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ceiling {
    passed: f64,
    since: Time,
    /// The rate from which it was lowered first, bytes a second.
    pub(super) from: f64,
}

impl Ceiling {
    /// So many bytes a second passed when a rate `from` was lowered.
    pub(super) fn new(now: Time, passed: f64, from: f64) -> Self {
        Self { passed, since: now, from }
    }

    /// Bytes a second that may be sent, as long as there is a limit.
    pub(super) fn rate(&self, now: Time) -> Option<f64> {
        let seconds = now.since(self.since).as_secs_f64();
        let grown = 1.0 + STEP * seconds * (1.0 + seconds) / 2.0;
        (grown < FORGOTTEN).then_some(BELOW * self.passed * grown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_units::time::at;

    #[test]
    fn a_ceiling_goes_up_by_a_third_in_three_seconds_and_is_gone_after_eleven() {
        let ceiling = Ceiling::new(at(1000), 1000.0, 5000.0);
        assert_eq!(ceiling.rate(at(1000)), Some(970.0));
        let later = ceiling.rate(at(4000)).unwrap();
        assert!((later - 970.0 * 1.3).abs() < 1e-6, "{later}");
        assert!(ceiling.rate(at(11_000)).is_some() && ceiling.rate(at(12_000)).is_none());
    }
}
