//! The rate above which somebody drops, as a policer does: it passes a rate, and the rest is lost without a
//! queue.
//!
//! A lower rate has shown it. From then on the rate stays below. At first that may have been chance, or somebody
//! who has gone: the rate doubles in four round trips. When loss begins again where it did, and ends again
//! at a lower rate, it is a policer. Then the rate goes up slowly, so that it costs a few messages now and
//! then. What has gone is soon no limit.

use fanfare_wire::NodeId;
use fanfare_wire::units::time::{Duration, Time};
use libm::exp2;

/// Share of what passed that is sent: a bucket fills again, and what is repaired has room.
const BELOW: f64 = 0.97;
/// Part by which the rate at a policer goes up in the first second; in each further one it is this part more.
const STEP: f64 = 0.1;
/// Number of times that it must have been seen.
const SURE_TIMES: u32 = 3;
/// Seconds in which it goes up so: where a third more passes by then it has gone.
const SURE: f64 = 3.0;
/// Round trips in which it doubles otherwise, and no sooner than this.
const DOUBLES_RTTS: u32 = 4;
const DOUBLES: Duration = Duration::from_millis(300);
/// Loss that begins again within this factor of where it did has the same cause.
const SAME: f64 = 1.25;
/// Time for which it is remembered, though the rate may have gone beyond.
const REMEMBERED: Duration = Duration::from_secs(30);
/// Multiple of what it was above which it is forgotten.
const FORGOTTEN: f64 = 4.0;

/// Rate that passed, and when that was seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateCeiling {
    passed: f64,
    since: Time,
    /// The time in which the rate doubles, as long as it is not sure.
    doubles: Duration,
    /// Receiver whose path it is.
    node: NodeId,
    /// Number of times in a row that loss has begun there.
    times: u32,
    /// The rate from which it was lowered first, bytes a second.
    pub(super) from: f64,
}

/// Sample of what arrived on a receiver's path.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArrivalSample {
    /// Bytes a second that arrived.
    pub(super) passed: f64,
    /// The rate that was lowered for it, bytes a second.
    pub(super) from: f64,
    pub(super) node: NodeId,
    pub(super) rtt: Duration,
}

impl RateCeiling {
    /// Loss has ended at a lower rate, perhaps again.
    pub(super) fn new(now: Time, seen: ArrivalSample, before: Option<Self>) -> Self {
        let before = before.filter(|before| now.since(before.since) < REMEMBERED);
        let again = before.filter(|before| {
            let ratio = seen.passed / before.passed.max(1.0);
            before.node == seen.node && (1.0 / SAME..SAME).contains(&ratio)
        });
        Self {
            passed: seen.passed,
            since: now,
            doubles: DOUBLES.max(seen.rtt * DOUBLES_RTTS),
            node: seen.node,
            times: again.map_or(1, |again| again.times + 1),
            from: before.map_or(seen.from, |before| before.from.max(seen.from)),
        }
    }

    /// Bytes a second that may be sent, as long as there is a limit.
    pub(super) fn rate(&self, now: Time) -> Option<f64> {
        let seconds = now.since(self.since).as_secs_f64();
        let slow = if self.is_sure() { seconds.min(SURE) } else { 0.0 };
        let grown = (1.0 + STEP * slow * (1.0 + slow) / 2.0)
            * exp2((seconds - slow) / self.doubles.as_secs_f64());
        (grown < FORGOTTEN).then_some(BELOW * self.passed * grown)
    }

    /// True if it is a policer, as far as one can know.
    pub(super) fn is_sure(&self) -> bool {
        self.times >= SURE_TIMES
    }

    /// True if it is on this path.
    pub(super) fn is_of(&self, node: NodeId) -> bool {
        self.node == node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    const SIGHT: ArrivalSample = ArrivalSample {
        passed: 1000.0,
        from: 5000.0,
        node: NodeId(1),
        rtt: Duration::from_millis(10),
    };

    #[test]
    fn what_was_seen_once_may_be_chance_and_is_gone_in_less_than_a_second() {
        let ceiling = RateCeiling::new(at(1000), SIGHT, None);
        assert_eq!(ceiling.rate(at(1000)), Some(970.0));
        assert_eq!(ceiling.rate(at(1300)), Some(1940.0));
        assert_eq!((ceiling.rate(at(1700)), ceiling.is_sure()), (None, false));
    }

    #[test]
    fn what_is_seen_again_goes_up_by_six_tenths_in_three_seconds_and_is_gone_soon_after() {
        let first = RateCeiling::new(at(0), ArrivalSample { from: 9000.0, ..SIGHT }, None);
        let second = RateCeiling::new(at(500), SIGHT, Some(first));
        let ceiling = RateCeiling::new(at(1000), SIGHT, Some(second));
        assert!(!second.is_sure() && ceiling.is_sure() && ceiling.from == 9000.0);
        let later = ceiling.rate(at(4000)).unwrap();
        assert!((later - 970.0 * 1.6).abs() < 1e-6, "{later}");
        assert!(ceiling.rate(at(4300)).is_some() && ceiling.rate(at(4500)).is_none());
        let elsewhere = ArrivalSample { node: NodeId(2), ..SIGHT };
        let less = ArrivalSample { passed: 500.0, ..SIGHT };
        assert!(!RateCeiling::new(at(1000), elsewhere, Some(second)).is_sure());
        assert!(!RateCeiling::new(at(1000), less, Some(second)).is_sure());
    }
}
