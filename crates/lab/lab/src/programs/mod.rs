//! Programs on this machine, for the laboratory: they are found or compiled, started in namespaces,
//! watched, and ended with all that they have started.
//!
//! # Map, in reading order
//! - [`system`]: what the operating system gives: namespaces, `ip` and `tc`, rights, priority,
//!   scratch directories.
//! - [`process`]: starts a program, and ends it with everything that it started; [`wait`], [`stop`]:
//!   until what; [`program`]: its output and its resources, too.
//! - [`build`]: compiles and downloads other people's programs; [`tools`]: where they are kept.
//! - [`payload`]: the file that programs send.
//! - [`error`]: why something cannot be done.
#![cfg(target_os = "linux")]

pub mod build;
pub mod error;
pub mod payload;
pub mod process;
pub mod program;
pub mod stop;
pub mod system;
pub mod tools;
pub mod wait;
