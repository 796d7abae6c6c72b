//! A host's clock: it may run fast or slow.

use fanfare_proto::Time;

/// Parts in a million.
const MILLION: i128 = 1_000_000;

/// A clock that shows zero at time zero and gains `ppm` microseconds each second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Clock {
    ppm: i32,
}

impl Clock {
    /// Positive runs fast. A clock that stands or runs back is as slow as can be.
    pub(crate) fn new(ppm: i32) -> Self {
        Self { ppm: ppm.max(1 - MILLION as i32) }
    }
    /// What it shows at `now`.
    pub(crate) fn shows(self, now: Time) -> Time {
        if self.ppm == 0 || now == Time::FAR_FUTURE {
            return now;
        }
        of(i128::from(now.as_nanos()) * (MILLION + i128::from(self.ppm)) / MILLION)
    }
    /// The first moment at which it shows `shown` or more.
    pub(crate) fn when(self, shown: Time) -> Time {
        if self.ppm == 0 || shown == Time::FAR_FUTURE {
            return shown;
        }
        let speed = MILLION + i128::from(self.ppm);
        of((i128::from(shown.as_nanos()) * MILLION + speed - 1) / speed)
    }
}

fn of(nanos: i128) -> Time {
    u64::try_from(nanos).map_or(Time::FAR_FUTURE, Time::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_gains_its_microseconds_each_second() {
        let at = Time::from_nanos(10_000_000_000);
        assert_eq!(Clock::new(100).shows(at).as_nanos(), 10_001_000_000);
        assert_eq!(Clock::new(-50).shows(at).as_nanos(), 9_999_500_000);
        assert_eq!(Clock::default().shows(at), at);
    }

    #[test]
    fn who_waits_for_a_reading_is_never_woken_before_it() {
        for ppm in [-999_999, -317, -1, 0, 1, 41, 20_000] {
            let clock = Clock::new(ppm);
            for shown in (0..10_000).chain(1_000_000_007..1_000_000_100).map(Time::from_nanos) {
                let at = clock.when(shown);
                assert!(clock.shows(at) >= shown, "{ppm} {shown:?}");
                let before = Time::from_nanos(at.as_nanos().saturating_sub(1));
                assert!(before == at || clock.shows(before) < shown, "{ppm} {shown:?}");
            }
        }
    }
}
