//! The laboratory's time: nanoseconds since it started.

use fanfare_proto::Time;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One lab's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    began: Instant,
    wall: SystemTime,
}

impl Clock {
    /// Zero is now.
    pub(crate) fn start() -> Self {
        Self { began: Instant::now(), wall: SystemTime::now() }
    }
    pub(crate) fn now(&self) -> Time {
        Time::from_nanos(self.began.elapsed().as_nanos() as u64)
    }
    /// Since the epoch, as captures are stamped.
    pub(crate) fn wall(&self, at: Time) -> Duration {
        let began = self.wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        began + at.since(Time::ZERO)
    }
}
