//! Requests for repair, and what is done about them.
//!
//! - `demand`: reads a NACK; `repair`: the repair cycle; `in_flight`: what has not arrived yet
//! - `once`: no block is repaired more than once in a round trip
//! - `repair_adv`, `squelch`: what the group is told about repairs
//! - `repair_share`: how repairs and new data share the rate; `tail_parity`: parity at the end;
//!   `cover`, `covering`: of short objects that somebody waits for; `worth`: how much of it
//! - `info_repair`, `peer_repair`: what the driver, or others, repair

pub(in crate::sender) mod cover;
mod covering;
pub(in crate::sender) mod demand;
pub(in crate::sender) mod in_flight;
pub(in crate::sender) mod info_repair;
pub(in crate::sender) mod once;
pub(in crate::sender) mod peer_repair;
pub(in crate::sender) mod repair;
pub(in crate::sender) mod repair_adv;
pub(in crate::sender) mod repair_share;
pub(in crate::sender) mod squelch;
pub(in crate::sender) mod tail_parity;
pub(in crate::sender) mod worth;
