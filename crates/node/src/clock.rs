//! The one place where real time enters: nanoseconds since the driver began.

use std::time::Instant;

use fanfare_proto::Time;

/// A clock that starts at [`Time::ZERO`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(&self) -> Time {
        Time::ZERO.plus(self.start.elapsed())
    }
}
