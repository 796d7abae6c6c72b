//! What is known of the receivers.
//!
//! - `feedback`: passes NACKs and ACKs to the machines; `receivers`: who was heard
//! - `bound_address`: from where it is believed; `echo_doubt`: which round trips are
//! - `heeded`: whose reports the rate follows
//! - `sent_messages`: what they can have counted
//! - `lossy_receivers`: who loses nearly everything at any rate
//! - `set_aside`: who is much slower than the others; `weighing`: whose reports count therefore
//! - `probe`: round trips; `roll_call`: names; `slow_receivers`: deferred or evicted

pub(in crate::sender) mod bound_address;
pub(in crate::sender) mod echo_doubt;
pub(in crate::sender) mod feedback;
pub(in crate::sender) mod heeded;
pub(in crate::sender) mod lossy_receivers;
pub(in crate::sender) mod probe;
pub(in crate::sender) mod receivers;
pub(in crate::sender) mod roll_call;
pub(in crate::sender) mod sent_messages;
pub(in crate::sender) mod set_aside;
pub(in crate::sender) mod slow_receivers;
mod weighing;
