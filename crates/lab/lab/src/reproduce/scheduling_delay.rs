//! How long the machine keeps a program of normal priority waiting: a thread sleeps for short times
//! and notes how late it wakes.

use fanfare_sim::histogram::Histogram;
use std::{
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Each sleep: a packet's time at 6 Mbit/s, and little work for the machine that is watched.
const STEP: Duration = Duration::from_millis(2);
/// A few packets' time at 10 Mbit/s, now and then.
const P99_MAX: Duration = Duration::from_millis(5);
/// On average much less: where 28 programs shared two cores, all systems were a tenth slower and one
/// sleep in a hundred was still within its bound.
const MEAN_MAX: Duration = Duration::from_micros(500);

/// How late short sleeps ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lateness {
    pub(super) mean: Duration,
    /// One in a hundred was later.
    pub(super) p99: Duration,
}

impl Lateness {
    /// Whether programs of ordinary priority were kept waiting longer than a trial may be: what they
    /// wait they lose, whatever they are. `line` is a full packet's time, which counts where it is longer.
    pub(super) fn is_over(self, line: Duration) -> bool {
        self.p99 > P99_MAX.max(line) || self.mean > MEAN_MAX.max(line / 4)
    }
}

#[derive(Debug)]
pub(super) struct SchedulingDelay {
    /// Its end ends the thread.
    running: Sender<()>,
    thread: JoinHandle<Histogram>,
}

impl SchedulingDelay {
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

    /// Ends it. How late its sleeps ended.
    pub(super) fn lateness(self) -> Lateness {
        drop(self.running);
        let lateness = self.thread.join().unwrap_or_default();
        Lateness { mean: lateness.mean(), p99: lateness.percentile(0.99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_late_on_average_or_now_and_then_is_too_busy_for_a_trial() {
        let [micros, line] = [Duration::from_micros, Duration::from_millis].map(|unit| unit(1));
        let of = |mean: u32, p99: u32| Lateness { mean: micros * mean, p99: micros * p99 };
        assert!(!of(400, 4_000).is_over(line));
        assert!(of(600, 4_000).is_over(line) && of(400, 6_000).is_over(line));
        assert!(!of(600, 6_000).is_over(line * 8));
    }
}
