//! A file over layers: each receiver at its own rate, and nobody asks for anything.
//!
//! - `packet`: groups and sizes; `content`: symbols of a file; `delivery_session`: what goes to layers,
//!   with `delivery_table`, by which FLUTE knows it; `build`: what a sender is to do, `error`: what
//!   stands against it; `send`: its thread.
//! - `reception`: from symbols to a file; `followed`: one session of a receiver, with the groups that it
//!   joins; `listener`: which sessions it follows.

mod build;
mod content;
mod delivery_session;
mod delivery_table;
mod error;
mod followed;
mod listener;
mod packet;
mod reception;
mod send;

pub use build::LayeredOptions;
pub use error::LayeredError;
pub(crate) use listener::LayeredListener;
