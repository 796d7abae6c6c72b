//! Standard input that may be silent.

use std::{io, os::fd::AsFd as _, time::Duration};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Whether there is something to be read, its end among it, within `most`.
///
/// # Errors
/// What the system says.
pub fn is_readable(most: Duration) -> io::Result<bool> {
    let stdin = io::stdin();
    let fd = stdin.as_fd();
    let timeout = Timespec::try_from(most).ok();
    match poll(&mut [PollFd::new(&fd, PollFlags::IN)], timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
