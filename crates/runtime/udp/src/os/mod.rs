//! What differs between Linux, macOS and Windows, in one shape. Crates that touch files, names or
//! terminals use this one and never ask which system they are on.
//!
//! The shape is that of Linux. There it is `rustix` and nothing else. macOS lacks a few calls.
//! Windows has calls of its own, which `windows` wraps under the same names. What a system cannot do
//! ends with an error that says so: nothing pretends.
//!
//! # Map
//! - [`fd`]: open files and directories, borrowed and owned
//! - [`fs`], [`io`]: files by a directory and a name, and the errors of these calls
//! - [`file`](mod@file): reading at offsets, and what `std` tells of a file on one system alone
//! - [`text`]: names as bytes, and which names a system can hold
//! - [`device`]: whether a disk is in use, and where names are those of devices
//! - [`input`]: whether something can be read, without waiting for it
//! - [`wake`]: wakes a thread that waits for sockets
//! - [`local`]: sockets for programs of this machine
//! - [`signal`], [`terminal`]: hang-ups, sizes, keys
//! - [`process`]: a program that takes our place, and who we are
//! - `unix` (with `macos`), `windows`: the systems; `deep_sync`, `linux_only`, `stat`: what both others
//!   have instead of Linux's calls

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod deep_sync;
pub mod device;
pub mod input;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod linux_only;
pub mod local;
pub mod process;
pub mod signal;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod stat;
pub mod terminal;
#[cfg(unix)]
mod unix;
pub mod wake;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{fd, file, fs, io, text};
#[cfg(windows)]
pub use windows::{fd, file, fs, io, text};
