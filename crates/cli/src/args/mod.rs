//! Options of commands; each comes to a plan that knows nothing of the command line.
//!
//! - `network`, `group`, `key`, `signing`, `expect`: options that commands share
//! - `send`, with `layers` and `streams`; `receive`, `node`, `doctor`: those of one command

mod choice;
pub(crate) mod doctor;
mod expect;
pub(crate) mod group;
pub(crate) mod key;
mod layers;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod receive;
pub(crate) mod send;
pub(crate) mod signing;
mod streams;
