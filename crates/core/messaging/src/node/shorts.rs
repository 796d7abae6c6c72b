//! How many short announcements there are for a long one.

/// Short announcements from one long one to the next, each half as long. A node that is new, or asks, gets a long one at
/// once; the next of these is for who is far behind, or knows an earlier instance of a publisher.
pub(super) const SHORTS_MAX: u32 = 7;
