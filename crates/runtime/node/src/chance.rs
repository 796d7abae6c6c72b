//! Chance, from the system.

use std::hash::{BuildHasher as _, RandomState};

use fanfare_proto::NodeId;

/// Never NONE (0) nor ANY (all ones).
pub fn random_id() -> NodeId {
    NodeId(1 + (random() % 0xffff_fffe) as u32)
}

/// 64 bits that no other run has: the standard library seeds its hashes from the system.
pub fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
