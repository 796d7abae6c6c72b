//! Parts that commands about groups share.
//!
//! - `events`: what members are told of
//! - `gateway`: what carries messages between groups
//! - `counter_pace`: when counters are looked at and told
//! - `drop_notice`: when to say that messages are dropped

pub(crate) mod counter_pace;
pub(crate) mod drop_notice;
pub(crate) mod events;
pub(crate) mod gateway;
