//! A deterministic network in virtual time: it drives real [`fanfare_proto::Session`]s over links
//! that lose, delay, double, reorder and corrupt, and tells what came of it.
//!
//! An hour of protocol runs in a second, a thousand receivers fit into one process, and a seed
//! repeats any run to the bit.
//!
//! # Map, in reading order
//! - [`plan`]: what is to be simulated, in chained calls.
//! - [`link`]: one direction of a path; [`network`]: who hears whom over which.
//! - [`agenda`]: what happens when.
//! - `node`: drives one session; [`content`]: objects' bytes, computed rather than stored.
//! - `simulation`: the run itself.
//! - [`tcp`]: flows to compete with.
//! - [`traffic`], [`report`], [`table`], `trace`: what came of it.
//!
//! # The guide
#![doc = include_str!("../../../docs/simulation.md")]
#![forbid(unsafe_code)]

pub mod agenda;
pub mod content;
pub mod link;
pub mod network;
mod node;
pub mod plan;
pub mod report;
mod simulation;
pub mod table;
pub mod tcp;
mod trace;
pub mod traffic;

pub use link::{Link, Loss};
pub use network::{Host, Hosts};
pub use node::{Completion, Offer};
pub use plan::{Change, Object, Plan, Until};
pub use report::{HostReport, Report};
pub use table::Table;
pub use traffic::{Count, Kind, Traffic};
