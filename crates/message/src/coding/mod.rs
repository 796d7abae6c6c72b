//! Sums over several objects: how they are written, solved, sent and kept.

pub(crate) mod coded_packet;
pub(crate) mod equations;
pub(crate) mod linear_system;
pub(crate) mod proactive;
pub(crate) mod sum_cache;
