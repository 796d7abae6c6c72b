//! The tests of `fanfare link` and `fanfare proxy`: real programs on two hosts with a road between them.
//!
//! They need root, `ip`, `curl` and `python3`. Elsewhere each says that it was not run, and why.

#![allow(clippy::print_stderr, clippy::print_stdout)]

mod cables;
mod callers;
mod faults;
mod gateway;
mod limits;
mod messages;
mod narrow;
mod norp;
mod people;
mod programs;
mod road;
mod scans;
mod scripts;
mod troubles;

/// The program that these tests run.
const PROGRAM: &str = env!("CARGO_BIN_EXE_fanfare");
