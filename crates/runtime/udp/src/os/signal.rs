//! What comes from outside beside Ctrl-C.

/// Calls this at each SIGHUP from now on. To be called before there is another thread: no thread
/// receives it, so that no handler does, and one waits for it.
#[cfg(unix)]
pub fn on_hangup(call: impl Fn() + Send + 'static) {
    use nix::sys::signal::{SigSet, Signal};

    let mut hangup = SigSet::empty();
    hangup.add(Signal::SIGHUP);
    // It cannot fail for a signal that there is; if it did, SIGHUP would end the process as before.
    if hangup.thread_block().is_ok() {
        std::thread::spawn(move || {
            while hangup.wait().is_ok() {
                call();
            }
        });
    }
}

/// There is no such signal: who closes the window ends the program.
#[cfg(windows)]
pub fn on_hangup(_: impl Fn() + Send + 'static) {}

/// Holds SIGUSR1 back in this thread and in those that it starts, until [`on_user_signal`]. To be called before
/// there is another thread: one that does not hold it back would end the process.
#[cfg(unix)]
pub fn hold_user_signal() {
    use nix::sys::signal::{SigSet, Signal};

    let mut signal = SigSet::empty();
    signal.add(Signal::SIGUSR1);
    // Where it cannot be, it ends the process as before.
    let _ = signal.thread_block();
}

/// There is no such signal.
#[cfg(windows)]
pub fn hold_user_signal() {}

/// Calls this at each SIGUSR1 from now on, as [`on_hangup`] does at each SIGHUP.
#[cfg(unix)]
pub fn on_user_signal(call: impl Fn() + Send + 'static) {
    use nix::sys::signal::{SigSet, Signal};

    let mut signal = SigSet::empty();
    signal.add(Signal::SIGUSR1);
    if signal.thread_block().is_ok() {
        std::thread::spawn(move || {
            while signal.wait().is_ok() {
                call();
            }
        });
    }
}

/// There is no such signal.
#[cfg(windows)]
pub fn on_user_signal(_: impl Fn() + Send + 'static) {}

/// A file that may not grow any more (ulimit -f) is an error of that write from now on, and no end of the
/// process. To be called before there is another thread.
#[cfg(unix)]
pub fn survive_file_limit() {
    use nix::sys::signal::{SigSet, Signal};

    let mut limit = SigSet::empty();
    limit.add(Signal::SIGXFSZ);
    // Where it cannot be, it ends the process as before.
    let _ = limit.thread_block();
}

/// There is no such limit.
#[cfg(windows)]
pub fn survive_file_limit() {}
