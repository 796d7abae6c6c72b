//! What commands about groups share: `events`: what members are told of; `gateway`: what carries messages
//! between groups.

pub(crate) mod events;
pub(crate) mod gateway;
