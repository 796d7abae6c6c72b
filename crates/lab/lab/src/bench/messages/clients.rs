//! What a subscriber has heard, and waiting for all of them.

use crate::process::Process;
use serde::Deserialize;
use std::{
    process::{ChildStdout, Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

pub(super) const GROUP: &str = "239.255.77.6:6086";
pub(super) const TOPIC: &str = "bench";
/// Members know of each other, and brokers have their subscriptions, when the first message goes.
pub(super) const SETTLE: Duration = Duration::from_millis(1500);
/// A run that takes longer counts as not whole.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// What a subscriber of the peer program tells in its last line.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Heard {
    pub(super) received: u64,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) max_ns: u64,
}

/// Starts one that prints what it hears, and puts it among those that run.
pub(super) fn start_subscriber(
    command: Command,
    running: &mut Vec<Process>,
) -> Result<Option<ChildStdout>, String> {
    let mut process = Process::start(command, Stdio::piped(), Stdio::null()).map_err(said)?;
    let output = process.outputs().0;
    running.push(process);
    Ok(output)
}

/// Returns when all have ended, or after `limit`.
pub(super) fn await_all<T>(readers: &[JoinHandle<T>], limit: Duration) {
    let begun = Instant::now();
    while !readers.iter().all(JoinHandle::is_finished) && begun.elapsed() < limit {
        thread::sleep(Duration::from_millis(20));
    }
}

pub(super) fn said(error: std::io::Error) -> String {
    error.to_string()
}
