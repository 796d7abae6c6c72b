//! The tests of the command are one program, so that it is linked once; a file is one part of the command.

mod bridge;
#[cfg(feature = "nats")]
mod broker;
mod choice;
mod config;
mod delete;
mod delivery;
mod demo;
mod doctor;
mod documents;
mod durability;
mod endings;
mod gateway;
mod generate;
mod greeting;
mod groups;
mod help;
mod interfaces;
mod laboratory;
mod layers;
#[cfg(feature = "nats")]
mod nats;
mod node;
mod node_groups;
mod overruns;
mod pack;
mod parts;
mod progress;
mod resume;
mod senders;
mod socket;
mod sparse;
mod stream;
mod streams;
mod support;
mod transfer;
mod trees;

/// The program that these tests run.
const PROGRAM: &str = env!("CARGO_BIN_EXE_fanfare");

/// Whether this program takes the command, and no other.
fn takes(command: &str) -> bool {
    !["lab", "sim", "bench"].contains(&command)
}
