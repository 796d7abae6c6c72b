//! What the database is called, and how much of it is in memory.

/// redb's own default of 1 GiB is more than all that is kept here.
pub(super) const PAGES_BYTES: usize = 8 << 20;

pub(super) const DATABASE: &str = "messages.redb";
