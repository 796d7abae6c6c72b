//! A program that takes our place.

use std::{io, process::Command};

/// Becomes the other program. Comes back only when that cannot be.
#[cfg(unix)]
pub fn replace(command: &mut Command) -> io::Error {
    use nix::sys::signal::{SigSet, Signal};

    let error = std::os::unix::process::CommandExt::exec(command);
    // The attempt has set SIGPIPE to what it is for other programs: it would end this one where nobody
    // reads. Blocked, it is an error of the write alone.
    let mut pipe = SigSet::empty();
    pipe.add(Signal::SIGPIPE);
    let _ = pipe.thread_block();
    error
}

/// Runs the other program and ends with its exit code: no program can take another's place here.
/// Comes back only when it cannot be started.
#[cfg(not(unix))]
pub fn replace(command: &mut Command) -> io::Error {
    match command.status() {
        // Ended from outside, it has none.
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

/// Whether this process may do everything on this machine.
#[cfg(unix)]
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Nobody is root here: what would need it is done otherwise.
#[cfg(not(unix))]
#[must_use]
pub fn is_root() -> bool {
    false
}
