//! The 158 names of the interface, and nothing else: here C's words become ours.
//!
//! All `unsafe` code of this crate is in this folder. A function here takes its arguments apart
//! (`words`), finds what the handle names (`access`), does one thing, and gives a word back. What
//! panics is told, and answered with the neutral value.
//!
//! [`symbols`]: constants. [`instance`], [`session`], [`network`], [`sender`], [`enqueue`], [`stream`],
//! [`acking`], [`receiver`], [`object`], [`node`]: functions, as the header groups them.
//! [`unsupported`]: functions that refuse. [`heap`]: memory that a program may free.
#![allow(unsafe_code)]
#![allow(
    non_snake_case,
    reason = "the names are those of the interface, which programs were linked with"
)]

mod access;
pub mod acking;
pub mod enqueue;
pub mod heap;
pub mod instance;
pub mod network;
pub mod node;
pub mod object;
pub mod receiver;
pub mod sender;
pub mod session;
pub mod stream;
pub mod symbols;
pub mod unsupported;
mod words;
