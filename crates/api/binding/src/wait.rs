//! How long a call waits.

use std::time::{Duration, Instant};

/// How long a call waits for something to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until it comes, or nothing will.
    Forever,
    /// So long at most.
    AtMost(Duration),
}

/// A wait without an end is made of such pieces.
const PIECE: Duration = Duration::from_secs(3600);

impl Wait {
    /// From milliseconds; less than none is for ever.
    #[must_use]
    pub fn of_millis(millis: i64) -> Self {
        u64::try_from(millis)
            .map_or(Self::Forever, |millis| Self::AtMost(Duration::from_millis(millis)))
    }

    /// Calls `next` with a time to wait until it gives something or the time is over.
    pub(crate) fn run<T>(self, mut next: impl FnMut(Duration) -> Option<T>) -> Option<T> {
        match self {
            Self::AtMost(time) => next(time),
            Self::Forever => loop {
                if let Some(found) = next(PIECE) {
                    return Some(found);
                }
            },
        }
    }

    /// When it is over.
    pub(crate) fn deadline(self) -> Option<Instant> {
        match self {
            Self::AtMost(time) => Instant::now().checked_add(time),
            Self::Forever => None,
        }
    }
}
