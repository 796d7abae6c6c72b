//! The one place where real time enters: nanoseconds since the driver began.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fanfare_proto::Time;

/// A clock that starts at [`Time::ZERO`].
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Begins now.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// What time it is.
    pub fn now(&self) -> Time {
        Time::ZERO.plus(self.start.elapsed())
    }

    /// Its start by the system's clock as it is now, since 1970: the kernel's times are by that one,
    /// which may be set meanwhile.
    pub fn epoch(&self) -> Duration {
        let system = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        system.saturating_sub(self.start.elapsed())
    }
}
