//! Relays between islands that no multicast joins: real programs in network namespaces, which only root
//! may make.

#![allow(clippy::print_stderr, clippy::print_stdout)]

mod files;
mod kinds;
mod rings;
mod world;
