//! Options of commands; each comes to a plan that knows nothing of the command line.
//!
//! - `network`, `group`: options that commands share
//! - `send`, with `layers` and `streams`; `receive`, `node`, `doctor`: those of one command

mod choice;
pub(crate) mod doctor;
pub(crate) mod group;
mod layers;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod parts;
pub(crate) mod receive;
pub(crate) mod send;
mod streams;
