//! Wakes the driver's thread from another one.

use std::{io, sync::Arc};

use fanfare_udp::WaitFd;
use fanfare_udp::os::wake::Bell;

/// What becomes readable when somebody calls.
#[derive(Debug, Clone)]
pub struct Waker {
    bell: Arc<Bell>,
}

impl Waker {
    /// One that nobody has called yet.
    pub fn new() -> io::Result<Self> {
        Ok(Self { bell: Arc::new(Bell::new()?) })
    }

    /// Makes the descriptor readable.
    pub fn wake(&self) {
        self.bell.ring();
    }

    /// Forgets the calls so far.
    pub fn clear(&self) {
        self.bell.clear();
    }

    /// What to wait for.
    pub fn as_fd(&self) -> WaitFd<'_> {
        self.bell.as_fd()
    }
}
