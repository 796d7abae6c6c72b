//! `fanfare recv`.
//!
//! - `plan`: what is to be received, and where it goes; `place`: that in words;
//!   `transfer`: it is
//! - `deletion`, `overruns`: what it says of files removed, and of a full buffer

mod deletion;
mod overruns;
mod place;
mod plan;
mod transfer;

pub(crate) use plan::ReceivePlan;
pub(crate) use transfer::run;
