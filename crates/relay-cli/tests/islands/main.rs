//! Relays between islands that no multicast joins: real programs in network namespaces, which only root
//! may make.

mod files;
mod kinds;
mod rings;
mod world;
