//! Octets of an interface at a moment, and rates between two of them.

use std::time::Duration;

/// A counter, as it was at a time since the agent is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CounterReading {
    pub(super) octets: u64,
    pub(super) at: Duration,
    /// It has 32 bits, and begins again behind them.
    pub(super) is_short: bool,
}

/// Both directions of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counters {
    pub(super) received: Option<CounterReading>,
    pub(super) sent: Option<CounterReading>,
}

/// A short counter is round after so many octets.
const ROUND: u64 = 1 << 32;
/// A line is told a little more than it carries: headers, and the moments of reading.
const MORE: f64 = 1.1;

/// Bits per second; `None` where the counter began anew, or may have gone round more than once.
pub(super) fn rate(
    before: Option<CounterReading>,
    now: Option<CounterReading>,
    speed: Option<u64>,
) -> Option<u64> {
    let (before, now) = before.zip(now)?;
    let seconds = now.at.saturating_sub(before.at).as_secs_f64();
    if seconds <= 0.0 || before.is_short != now.is_short {
        return None;
    }
    // What the line can carry in that time, bytes.
    let most = speed.map(|speed| speed as f64 / 8.0 * seconds * MORE);
    if now.is_short && most.is_some_and(|most| most >= ROUND as f64 * MORE) {
        return None;
    }
    let octets = match now.octets.checked_sub(before.octets) {
        Some(octets) => octets,
        // Round once, where the line can have carried so much; begun anew otherwise.
        None if now.is_short => {
            let octets = (now.octets + ROUND).checked_sub(before.octets)?;
            most.filter(|most| octets as f64 <= *most).map(|_| octets)?
        }
        None => return None,
    };
    Some((octets as f64 * 8.0 / seconds).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_counter_goes_round_and_one_that_began_anew_is_no_rate() {
        const NEAR: u64 = ROUND - 1000;
        let at = |octets: u64, seconds: u64, is_short: bool| {
            Some(CounterReading { octets, at: Duration::from_secs(seconds), is_short })
        };
        let cases = [
            // Onwards, of both kinds.
            (at(1000, 0, false), at(6000, 5, false), None, Some(8000)),
            (at(1000, 0, true), at(6000, 5, true), None, Some(8000)),
            // Round, and within what the line carries, or beyond it, or who knows.
            (at(NEAR, 0, true), at(4000, 5, true), Some(100_000), Some(8000)),
            (at(NEAR, 0, true), at(4000, 5, true), Some(5000), None),
            (at(NEAR, 0, true), at(4000, 5, true), None, None),
            (at(3_000_000_000, 0, true), at(10, 5, true), Some(100_000_000), None),
            // A long one does not go round.
            (at(NEAR, 0, false), at(4000, 5, false), Some(100_000), None),
            // In this time it can have gone round more than once.
            (at(1000, 0, true), at(6000, 60, true), Some(1_000_000_000), None),
            (at(1000, 0, true), at(6000, 30, true), Some(1_000_000_000), Some(1333)),
            // No time, and another counter.
            (at(1000, 5, false), at(6000, 5, false), None, None),
            (at(1000, 0, true), at(6000, 5, false), None, None),
            (None, at(6000, 5, false), None, None),
        ];
        for (before, now, speed, expected) in cases {
            assert_eq!(rate(before, now, speed), expected, "{before:?} {now:?} {speed:?}");
        }
    }
}
