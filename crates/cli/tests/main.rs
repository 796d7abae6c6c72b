//! The tests of the command are one program, so that it is linked once; a file is one part of the command.

mod bridge;
mod config;
mod delete;
mod delivery;
mod demo;
mod doctor;
mod documents;
mod durability;
mod endings;
mod gateway;
mod groups;
#[cfg(target_os = "linux")]
mod lab;
mod layers;
mod nats;
mod node;
mod node_groups;
mod overruns;
mod pack;
mod resume;
mod senders;
mod sim;
mod socket;
mod sparse;
mod streams;
mod support;
mod transfer;
