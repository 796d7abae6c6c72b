//! Waiting for sockets with nanosecond timeouts.

use rustix::fd::BorrowedFd;
use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Why a wait ended; all false when the time was up or a signal came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// A group's socket has datagrams.
    pub group: bool,
    /// A socket of layers has datagrams.
    pub layers: bool,
    /// The sending socket has datagrams.
    pub unicast: bool,
    /// The sending socket takes datagrams again. Only when asked for.
    pub writable: bool,
    /// The waker's descriptor is readable or closed.
    pub woken: bool,
    /// Interfaces of this machine have changed: [`crate::Endpoint::follow`].
    pub changed: bool,
}

impl Ready {
    /// Whether [`crate::Endpoint::receive`] has something to do.
    pub fn readable(&self) -> bool {
        self.group || self.layers || self.unicast
    }
}

/// Waits on the sending socket first, the waker and the watch of interfaces next, where there are, the
/// groups' sockets, and those of layers.
pub(crate) fn wait<'a>(
    (sending, for_space): (BorrowedFd<'a>, bool),
    waker: Option<BorrowedFd<'a>>,
    watch: Option<BorrowedFd<'a>>,
    (groups, layers): (impl Iterator<Item = BorrowedFd<'a>>, impl Iterator<Item = BorrowedFd<'a>>),
    timeout: Option<Duration>,
) -> io::Result<Ready> {
    let interest = if for_space { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    let mut fds = vec![PollFd::from_borrowed_fd(sending, interest)];
    let others = waker.into_iter().chain(watch).chain(groups);
    fds.extend(others.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    let first_layer = fds.len();
    fds.extend(layers.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    match poll(&mut fds, timeout.map(timespec).as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Ready::default()),
        Err(errno) => return Err(errno.into()),
    }
    // An error on a socket is fetched by reading it.
    let has_input = |fd: &PollFd<'_>| fd.revents().intersects(!PollFlags::OUT);
    let after_waker = 1 + usize::from(waker.is_some());
    let first_group = after_waker + usize::from(watch.is_some());
    Ok(Ready {
        group: fds[first_group..first_layer].iter().any(has_input),
        layers: fds[first_layer..].iter().any(has_input),
        unicast: has_input(&fds[0]),
        writable: fds[0].revents().contains(PollFlags::OUT),
        woken: waker.is_some() && has_input(&fds[1]),
        changed: watch.is_some() && has_input(&fds[after_waker]),
    })
}

/// Waits for time, or until the waker's descriptor is readable: gives true then.
pub(crate) fn pause(waker: Option<BorrowedFd<'_>>, time: Duration) -> io::Result<bool> {
    let mut fds = waker.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(fds.as_mut_slice(), Some(&timespec(time))) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Waits until this socket takes datagrams, for so long at most.
pub(crate) fn wait_for_room(socket: BorrowedFd<'_>, time: Duration) -> io::Result<()> {
    match poll(&mut [PollFd::from_borrowed_fd(socket, PollFlags::OUT)], Some(&timespec(time))) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// A time beyond what the system can count is as good as for ever, some hundred years of it.
fn timespec(timeout: Duration) -> Timespec {
    const LONGEST_SECONDS: u64 = u32::MAX as u64;
    Timespec {
        tv_sec: timeout.as_secs().min(LONGEST_SECONDS) as i64,
        // Its type differs from one system to the other; it is below 10^9.
        tv_nsec: timeout.subsec_nanos() as _,
    }
}
