//! All scenarios are one program, so that it is linked only once. Each file is one behaviour.

#![allow(clippy::print_stderr, clippy::print_stdout)]

mod attack;
mod determinism;
mod files;
mod group;
mod network;
mod random_roads;
mod random_worlds;
mod rate;
mod transfers;
