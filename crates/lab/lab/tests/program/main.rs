//! The tests of `fanfare-lab` are one program, so that it is linked once; a file is one part of it.

#![allow(clippy::print_stderr, clippy::print_stdout)]

#[path = "../../../../cli/cli/tests/documents.rs"]
mod documents;
#[path = "../../../../cli/cli/tests/help.rs"]
mod help;
#[cfg(target_os = "linux")]
mod lab;
mod sim;
#[allow(dead_code, reason = "the tests of fanfare use all of it")]
#[path = "../../../../cli/cli/tests/support/mod.rs"]
mod support;
mod sweep;

/// The program that these tests run.
const PROGRAM: &str = env!("CARGO_BIN_EXE_fanfare-lab");

/// Whether this program takes the command, and no other.
fn takes(command: &str) -> bool {
    ["lab", "sim", "bench"].contains(&command)
}
