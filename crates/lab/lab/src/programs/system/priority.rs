//! Priority over other programs, so that delays are exact on a busy machine.

use std::io;

/// Above ordinary programs; the kernel's own real-time threads begin at 50.
const FIRST: i32 = 10;
/// Above ordinary programs, below the emulator.
const EARLY: i32 = 5;

/// Lets the calling thread go before all ordinary ones (SCHED_FIFO).
///
/// # Errors
/// Without CAP_SYS_NICE.
pub fn go_first() -> io::Result<()> {
    set(FIRST)
}
/// The same, but behind the emulator.
///
/// # Errors
/// As [`go_first`].
pub fn go_early() -> io::Result<()> {
    set(EARLY)
}

fn set(priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter is readable during the call, and 0 is the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
