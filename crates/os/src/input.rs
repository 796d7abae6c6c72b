//! Input that may be silent.

use std::{io, time::Duration};

use crate::fd::AsFd;

/// Whether there is something to be read, its end among it, within `most`.
///
/// # Errors
/// What the system says; `Interrupted` by a signal.
#[cfg(unix)]
pub fn is_readable(input: impl AsFd, most: Duration) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let timeout = Timespec::try_from(most).ok();
    match poll(&mut [PollFd::new(&input, PollFlags::IN)], timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(error) => Err(error.into()),
    }
}

/// Whether there is something to be read, its end among it, within `most`.
///
/// # Errors
/// What the system says.
#[cfg(windows)]
pub fn is_readable(input: impl AsFd, most: Duration) -> io::Result<bool> {
    crate::windows::is_readable(input, most)
}
