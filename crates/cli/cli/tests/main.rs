//! The tests of the command are one program, so that it is linked once; a file is one part of the command.

#![allow(clippy::print_stderr, clippy::print_stdout)]

mod companions;
mod config;
mod demo;
mod doctor;
mod documents;
mod first_screen;
mod generate;
mod help;
mod messages;
mod mistakes;
mod norm_exec;
mod outputs;
mod pages;
mod pipe;
mod policy;
mod sessions;
mod support;
mod transfers;

/// The program that these tests run.
const PROGRAM: &str = env!("CARGO_BIN_EXE_fanfare");

/// Whether this program takes the command, and no other.
fn takes(command: &str) -> bool {
    !["lab", "sim", "bench"].contains(&command)
}
