//! What commands about groups share.
//!
//! - `topics`, `wanted`: topics, and what is wanted of them, as people write them
//! - `events`: what members are told of; `gateway`: what carries messages between groups

pub(crate) mod events;
pub(crate) mod gateway;
pub(crate) mod topics;
pub(crate) mod wanted;
