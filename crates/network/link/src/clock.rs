//! The time of a node: what passes between the system's clock and machines that have none.

use std::time::Instant;

use fanfare_proto::Time;

/// Counts from when it was made.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// From now on.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Time {
        self.at(Instant::now())
    }

    /// This moment.
    #[must_use]
    pub fn at(&self, moment: Instant) -> Time {
        let since = moment.saturating_duration_since(self.0);
        Time::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The same moment for the system.
    #[must_use]
    pub fn instant(&self, time: Time) -> Instant {
        self.0 + time.since(Time::ZERO)
    }
}
