//! Wakes the driver's thread from another one.

use fanfare_os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::{io, sync::Arc};

use rustix::event::{EventfdFlags, eventfd};

/// A descriptor that becomes readable when somebody calls.
#[derive(Debug, Clone)]
pub struct Waker {
    fd: Arc<OwnedFd>,
}

impl Waker {
    /// One that nobody has called yet.
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { fd: Arc::new(fd) })
    }

    /// Makes the descriptor readable.
    pub fn wake(&self) {
        // Full means that it is readable already.
        let _ = fanfare_os::io::write(&self.fd, &1_u64.to_ne_bytes());
    }

    /// Forgets the calls so far.
    pub fn clear(&self) {
        let _ = fanfare_os::io::read(&self.fd, &mut [0; 8]);
    }

    /// What to wait for.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
