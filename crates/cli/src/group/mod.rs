//! What commands about groups share: `events`: what members are told of; `gateway`: what carries messages
//! between groups; `drop_notice`: when to say that some are dropped.

pub(crate) mod drop_notice;
pub(crate) mod events;
pub(crate) mod gateway;
