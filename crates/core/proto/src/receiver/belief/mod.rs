//! Which messages are believed, and from which object on.
//!
//! - `pinned_identity`: a sender's address and instance; `identity`: whose message it is
//! - `join`: with which object a late joiner begins; `object_window`: which object is meant;
//!   `window_passing`: that earlier ones are over
//! - `impostor`: what becomes of what another host has said in its name
//! - `eviction`, `farewell`: that the sender goes on without us, or leaves
//! - `format_doubt`: that an object is not what its first message said
//! - `squelch`: what the sender says it has no longer; `inactivity`: that it says nothing
//! - `unsent`: objects that it has never sent

pub(in crate::receiver) mod eviction;
pub(in crate::receiver) mod farewell;
pub(in crate::receiver) mod format_doubt;
pub(in crate::receiver) mod identity;
pub(in crate::receiver) mod impostor;
pub(in crate::receiver) mod inactivity;
pub(in crate::receiver) mod join;
pub(in crate::receiver) mod object_window;
pub(in crate::receiver) mod pinned_identity;
pub(in crate::receiver) mod squelch;
pub(in crate::receiver) mod unsent;
pub(in crate::receiver) mod window_passing;
