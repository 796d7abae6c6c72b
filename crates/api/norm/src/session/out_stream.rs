//! What a stream to send has beside what the engine knows.

use crate::kinds::Flush;

/// What a stream to send has beside what the engine knows.
#[derive(Debug, Default)]
pub(crate) struct OutStream {
    /// How each write is flushed.
    pub(super) auto_flush: Flush,
    /// The last write found no room for all of it: its message goes on.
    pub(super) short: bool,
    /// It is to end as soon as there is room for the end.
    pub(super) closing: bool,
    /// It has its end.
    pub(super) closed: bool,
}

impl OutStream {
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }
}
