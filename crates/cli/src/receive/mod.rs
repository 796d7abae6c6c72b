//! `fanfare recv`.
//!
//! - `plan`: what is to be received, and where it goes; `transfer`: it is
//! - `deletion`, `overruns`: what it says of files removed, and of a full buffer

mod deletion;
mod overruns;
mod plan;
mod transfer;

pub(crate) use plan::ReceivePlan;
pub(crate) use transfer::run;
