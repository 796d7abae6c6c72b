//! Options of commands; each comes to a plan that knows nothing of the command line.
//!
//! - `network`, `group`, `key`, `signing`, `expect`: options that commands share
//! - `meeting`: transfers by code, on both sides
//! - `send`, with `code`, `controllers`, `hosts`, `layers`, `start` and `streams`; `receive`, `pipe`, `node`,
//!   `doctor`: those of one command

mod choice;
mod code;
mod controllers;
pub(crate) mod doctor;
mod expect;
pub(crate) mod group;
mod hosts;
pub(crate) mod key;
mod layers;
mod meeting;
mod metadata;
pub(crate) mod monitor;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod parts;
pub(crate) mod pipe;
mod policy;
pub(crate) mod receive;
pub(crate) mod send;
mod serving;
pub(crate) mod signing;
pub(crate) mod socket;
mod start;
mod streams;
pub(crate) mod watch;
