//! Are the clocks fit for timers and for dates of files?

use std::time::Duration;

use super::finding::Finding;

/// 2024-01-01, seconds since 1970: no machine that runs this was made earlier.
const SANE_SINCE: u64 = 1_704_067_200;

/// What two clocks showed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockFacts {
    /// What the monotonic clock counted between two looks.
    pub(crate) counted: Duration,
    /// Wall clock, seconds since 1970.
    pub(crate) wall: u64,
}

pub(crate) fn judge(facts: ClockFacts) -> Finding {
    if facts.counted.is_zero() {
        return Finding::bad(
            "clock.stopped",
            "the monotonic clock stands still",
            "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
        );
    }
    if facts.wall < SANE_SINCE {
        return Finding::warn(
            "clock.wall",
            "the date is before 2024; transfers work, dates in logs and of files do not",
            "timedatectl set-ntp true",
        );
    }
    Finding::ok("clock.ok", "monotonic clock runs, date is plausible")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_of_the_past_and_a_clock_that_stands_are_told() {
        let counted = Duration::from_nanos(50);
        assert_eq!(judge(ClockFacts { counted, wall: 1_795_000_000 }).code, "clock.ok");
        assert_eq!(judge(ClockFacts { counted, wall: 3_600 }).code, "clock.wall");
        assert_eq!(judge(ClockFacts { counted: Duration::ZERO, wall: 0 }).code, "clock.stopped");
    }
}
