//! How long the machine keeps a program of ordinary priority waiting: a thread that sleeps for short
//! times and notes how late it wakes.

use fanfare_sim::histogram::Histogram;
use std::{
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Each sleep: a packet's time at 6 Mbit/s, and little work for the machine that is watched.
const STEP: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub(super) struct Pulse {
    /// Its end ends the thread.
    running: Sender<()>,
    thread: JoinHandle<Histogram>,
}

impl Pulse {
    pub(super) fn start() -> Self {
        let (running, end) = channel::<()>();
        let thread = thread::spawn(move || {
            let mut lateness = Histogram::default();
            loop {
                let slept = Instant::now();
                let Err(RecvTimeoutError::Timeout) = end.recv_timeout(STEP) else { break };
                lateness.add(slept.elapsed().saturating_sub(STEP));
            }
            lateness
        });
        Self { running, thread }
    }

    /// Ends it. How late one in a hundred of its sleeps ended.
    pub(super) fn lateness(self) -> Duration {
        drop(self.running);
        self.thread.join().unwrap_or_default().percentile(0.99)
    }
}
