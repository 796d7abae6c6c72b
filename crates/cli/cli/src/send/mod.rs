//! `fanfare send`.
//!
//! - `plan`: what is to be sent, to whom, and how; `transfer`: it is; `streams`: several at once
//! - `choice`: which files; what would be sent
//! - `progress`: what a terminal shows meanwhile; `conclusion`: how it ended
//! - `receipts`: the file of receipts; `roster`, `plain_receivers`, `skipped`: what it warns of once

mod choice;
mod conclusion;
mod plain_receivers;
mod plan;
mod progress;
mod receipts;
mod roster;
mod skipped;
mod streams;
mod transfer;

pub(crate) use plan::{SendPlan, StreamPlan, Streaming, StreamsPlan};
pub(crate) use streams::run as run_streams;
pub(crate) use transfer::run;
