//! Asking a node to end, from any thread.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::waker::Waker;

/// Stops a node from elsewhere, such as a signal handler.
#[derive(Debug, Clone)]
pub struct Stopper {
    asked: Arc<AtomicBool>,
    waker: Waker,
}

impl Stopper {
    /// One for the thread that waits for `waker`.
    #[must_use]
    pub fn new(waker: Waker) -> Self {
        Self { asked: Arc::new(AtomicBool::new(false)), waker }
    }

    /// Asks the node to tell the others and to end; it takes up to two seconds.
    pub fn stop(&self) {
        self.asked.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// Whether somebody has asked.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// The same, once for each time that somebody asks.
    pub(crate) fn take(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed)
    }

    /// Wakes the node's thread, for whatever it is.
    pub fn wake(&self) {
        self.waker.wake();
    }

    /// What wakes the node's thread.
    #[must_use]
    pub fn waker(&self) -> &Waker {
        &self.waker
    }
}
