//! Input that may be silent.

use std::{io, time::Duration};

use crate::os::fd::AsFd;

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
    crate::os::windows::is_readable(input, most)
}

/// Whether somebody has pressed Enter at standard input since this was asked last. Reads nothing that is meant
/// for others: a terminal only where this process is in its foreground, a pipe only where there is one
/// byte, as a person or a program that presses the key leaves it there.
#[cfg(unix)]
#[must_use]
pub fn took_enter() -> bool {
    use rustix::{fs::FileType, io::ioctl_fionread, process::getpgrp, termios};

    let input = io::stdin();
    let is_terminal = termios::isatty(&input);
    let is_ours = match is_terminal {
        // Reading in the background would stop this process.
        true => termios::tcgetpgrp(&input).is_ok_and(|group| group == getpgrp()),
        false => rustix::fs::fstat(&input)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo),
    };
    let waiting = if is_ours { ioctl_fionread(&input).unwrap_or(0) } else { 0 };
    if waiting == 0 || (!is_terminal && waiting != 1) {
        return false;
    }
    let mut line = [0; 256];
    rustix::io::read(&input, &mut line).is_ok_and(|count| line[..count].contains(&b'\n'))
}

/// Whether somebody has pressed Enter at standard input since this was asked last: not looked at here.
#[cfg(windows)]
#[must_use]
pub fn took_enter() -> bool {
    false
}
