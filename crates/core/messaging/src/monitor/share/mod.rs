//! How the channel is shared: how often a node speaks, what it says first, and for whom.

pub(crate) mod hearing;
pub(crate) mod interval;
pub(crate) mod rank;
