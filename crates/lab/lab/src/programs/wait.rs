//! Waits for the first of several events: output, the end of a program, or a request to stop.

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    fd::{AsFd, BorrowedFd, OwnedFd},
};
use std::{io, time::Duration};

/// Wakes who waits for it, however often it is rung before that.
#[derive(Debug)]
pub struct WakeEvent(OwnedFd);

impl WakeEvent {
    /// One that is not rung.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }
    /// Wakes who waits now or next.
    pub fn ring(&self) {
        // Full is rung, too.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
    /// From now on only what is rung from now on wakes.
    pub fn clear(&self) {
        // Nothing to read is as good.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
    /// Whether it was rung since it was cleared.
    pub fn is_rung(&self) -> bool {
        let mut asked = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut asked, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

impl AsFd for WakeEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until one of these can be read, at most for so long. It may return sooner: callers look
/// themselves what has happened.
pub fn for_any(descriptors: &[BorrowedFd<'_>], longest: Duration) {
    let mut waited: Vec<PollFd<'_>> =
        descriptors.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    // A time that does not fit is longer than anybody waits.
    let longest = Timespec::try_from(longest).ok();
    // A signal, or a lack of memory for a moment: callers look and wait again.
    let _ = poll(&mut waited, longest.as_ref());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_bell_that_was_rung_wakes_until_it_is_cleared() {
        let long = Duration::from_secs(60);
        let begun = Instant::now();
        let (rung, silent) = (WakeEvent::new().unwrap(), WakeEvent::new().unwrap());
        rung.ring();
        rung.ring();
        for_any(&[silent.as_fd(), rung.as_fd()], long);
        assert!(rung.is_rung() && !silent.is_rung());
        assert!(begun.elapsed() < long);
        rung.clear();
        let before = Instant::now();
        for_any(&[rung.as_fd()], Duration::from_millis(1));
        assert!(before.elapsed() >= Duration::from_millis(1));
    }
}
