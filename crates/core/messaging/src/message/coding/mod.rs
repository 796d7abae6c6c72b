//! Sums over several objects: how they are written, solved, sent and kept.

pub mod coded_packet;
pub mod equations;
pub mod linear_system;
pub mod proactive;
pub mod sum_cache;
