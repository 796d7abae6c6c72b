//! A request to end early. It is set once, and wakes every waiting thread.

use crate::programs::{
    error::LabError,
    wait::{self, WakeEvent},
};
use rustix::fd::{AsFd, BorrowedFd};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// A wish to end early: of the user's, or of another process's. Clones are the same wish.
#[derive(Debug, Clone)]
pub struct Stop(Arc<StopState>);

#[derive(Debug)]
struct StopState {
    set: AtomicBool,
    // Rung once and never cleared: it stays readable for all.
    wake_event: WakeEvent,
}

impl Stop {
    /// Not set.
    ///
    /// # Errors
    /// When the system has no more file descriptors.
    pub fn new() -> Result<Self, LabError> {
        let wake_event =
            WakeEvent::new().map_err(|error| LabError::system("stop (event)", &error))?;
        Ok(Self(Arc::new(StopState { set: AtomicBool::new(false), wake_event })))
    }
    /// Sets it, for good.
    pub fn set(&self) {
        self.0.set.store(true, Ordering::SeqCst);
        self.0.wake_event.ring();
    }
    /// Whether it is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.set.load(Ordering::SeqCst)
    }
    /// Waits until it is set, at most for so long; says whether it is.
    pub fn wait(&self, longest: Duration) -> bool {
        let deadline = Instant::now() + longest;
        while !self.is_set() && Instant::now() < deadline {
            wait::for_any(&[self.as_fd()], deadline.saturating_duration_since(Instant::now()));
        }
        self.is_set()
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.wake_event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_wish_to_end_wakes_whoever_waits_and_stays() {
        let stop = Stop::new().unwrap();
        assert!(!stop.wait(Duration::ZERO));
        let other = stop.clone();
        let waiting = thread::spawn(move || other.wait(Duration::from_secs(60)));
        stop.set();
        assert!(waiting.join().unwrap());
        assert!(stop.wait(Duration::from_secs(60)) && stop.is_set());
    }
}
