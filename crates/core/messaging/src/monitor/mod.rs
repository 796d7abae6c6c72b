//! A monitor for networks too thin to be monitored: nodes tell their neighbours what they know, in a
//! bounded share of the channel. No I/O: time and chance are arguments, as in all core crates.
//!
//! [`Monitor`] is told what its node measures and what notes of others say; it is asked for the note
//! that may go now, and for what has changed. What it knows is the [`World`].
//!
//! - `machine`: what goes in and comes out; `note`: what it says, as bytes
//! - `world`: what is known of every node, and how old it is; `facts`: what a node says of itself;
//!   `scale`: numbers in one byte; `expiry`: when silence means that a node has gone
//! - `share`: `interval`: how often a node may speak; `rank`: what it says first; `hearing`: who hears
//!   whom, and so who must pass on
//! - `master`: who speaks for a group in another
//! - `link`: `kind`: which kind of link this is, by how it behaves; `kinds`: those that are known
//! - `observe`: what packets tell that pass by: flows, round trips, loss, gateways
//! - `alert`: rules over measured numbers; `advice`: ceilings that lapse by themselves

pub mod advice;
pub mod alert;
mod expiry;
mod facts;
pub mod link;
mod machine;
mod master;
mod note;
pub mod observe;
pub mod scale;
mod share;
mod world;

pub use facts::{Block, Facts};
pub use fanfare_wire::NodeId;
pub use fanfare_wire::units::{Bitrate, Duration, Time};
pub use machine::{Config, Event, Monitor, Stats};
pub use master::{Candidate, elect};
pub use note::{Note, Told};
pub use share::hearing::Hearing;
pub use world::{Known, World};
