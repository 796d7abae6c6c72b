//! What is missing, who is asked for it, and what peers give.
//!
//! - `needs`, `suppression`, `request`, `nack`: what is missing, and requesting it
//! - `peer_repair`, `retransmission`: accepting repairs from peers, and repairing for them

pub(in crate::receiver) mod nack;
pub(in crate::receiver) mod needs;
pub(in crate::receiver) mod peer_repair;
pub(in crate::receiver) mod request;
pub(in crate::receiver) mod retransmission;
pub(in crate::receiver) mod suppression;
