//! `libnorm.so.1`: the C interface of NRL's NORM library, over Fanfare.
//!
//! Programs that are linked with libnorm run on it without being compiled again. It exports the
//! names of Debian's libnorm1 1.5.9, and nothing else. What each of them does here is in
//! `docs/reference/libnorm.md`.
//!
//! # Map, in reading order
//! - [`edge`]: the 158 names. The `unsafe` code of this crate is there: pointers become slices, strings
//!   and handles, panics become errors
//! - [`kinds`]: the numbers of the interface. [`handle`]: what a program holds instead of a pointer;
//!   `slab`, `registry`: what stands behind it
//! - [`instance`]: one lock, one thread, one queue of events
//! - [`session`]: settings, sockets, objects, streams, acknowledgements
//! - [`options`]: `FANFARE_NORM_OPTIONS`; `log`: what is told to people
#![deny(unsafe_code)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("handles are 64-bit words that a program takes for pointers");

pub mod edge;
pub mod handle;
pub mod instance;
pub mod kinds;
mod log;
pub mod options;
mod registry;
pub mod session;
mod slab;
