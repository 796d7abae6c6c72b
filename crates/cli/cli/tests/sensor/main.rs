//! The tests of `fanfare sensor`: the real program, in network namespaces, beside tshark
//! and snmpd.
//!
//! They need root and `ip`; some need `tshark` or `snmpd`. Elsewhere each says that it was not run, and why.

#![allow(clippy::print_stderr, clippy::print_stdout)]

mod agents;
mod capture;
mod hosts;
mod traces;

/// The program that these tests run.
const PROGRAM: &str = env!("CARGO_BIN_EXE_fanfare");
