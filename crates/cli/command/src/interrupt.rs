//! Ctrl-C: the first tells the other side, the second ends it at once. SIGHUP does the same, unless
//! there is a configuration file for it to read again.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fanfare_node::Stopper;

use crate::output::{end_interrupted, has_ended};

/// Longest from the first Ctrl-C to the end, whatever hangs.
const LIMIT: Duration = Duration::from_millis(1900);

struct State {
    stoppers: Vec<Stopper>,
    /// Tells what has to be told and may take its time.
    tell: Option<Box<dyn Fn() + Send>>,
    /// What must be done even where nothing is waited for.
    at_once: Option<fn()>,
    asked: bool,
}

static STATE: Mutex<State> =
    Mutex::new(State { stoppers: Vec::new(), tell: None, at_once: None, asked: false });

/// SIGHUP came, and nobody has looked yet.
static HANGUP: AtomicBool = AtomicBool::new(false);

/// Takes over SIGINT, SIGTERM and SIGHUP. To be called before there is another thread.
pub fn install(hangup_reloads: bool) {
    fanfare_udp::os::signal::survive_file_limit();
    if hangup_reloads {
        // No thread receives SIGHUP, so that no handler does; one waits for it.
        fanfare_udp::os::signal::on_hangup(|| HANGUP.store(true, Ordering::Relaxed));
    }
    // Without a handler the signal ends the process, as it would without this.
    let _ = ctrlc::set_handler(|| {
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        if state.asked || state.stoppers.is_empty() && state.tell.is_none() {
            state.at_once.iter().for_each(|last| last());
            if !(state.asked && has_ended()) {
                end_interrupted();
            }
            return;
        }
        state.asked = true;
        if let Some(tell) = &state.tell {
            tell();
            return;
        }
        state.stoppers.iter().for_each(Stopper::stop);
        std::thread::spawn(|| {
            std::thread::sleep(LIMIT);
            end_interrupted();
        });
    });
}

/// SIGUSR1 came, and nobody has looked yet.
static GO: AtomicBool = AtomicBool::new(false);

/// Holds SIGUSR1 back until [`install_go`]. To be called before there is another thread.
pub fn hold_go() {
    fanfare_udp::os::signal::hold_user_signal();
}

/// Takes over SIGUSR1, which [`hold_go`] has held back. To be called after [`install`], as this starts a thread.
pub fn install_go() {
    fanfare_udp::os::signal::on_user_signal(|| GO.store(true, Ordering::Relaxed));
}

/// Whether the user has wanted it to go on, by SIGUSR1, since this was asked last.
pub fn take_go() -> bool {
    GO.swap(false, Ordering::Relaxed)
}

/// Whether SIGHUP has come since this was asked last.
pub fn take_hangup() -> bool {
    HANGUP.swap(false, Ordering::Relaxed)
}

/// Stops this node too when the user wants it; at once, if the user has wanted it by now.
pub fn stop_on_interrupt(stopper: Stopper) {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    if state.asked {
        stopper.stop();
    }
    state.stoppers.push(stopper);
}

/// Whether the user wants it to stop.
pub fn is_asked() -> bool {
    STATE.lock().unwrap_or_else(PoisonError::into_inner).asked
}

/// Calls this when the user wants to stop.
pub fn call_on_interrupt(call: Option<Box<dyn Fn() + Send>>) {
    STATE.lock().unwrap_or_else(PoisonError::into_inner).tell = call;
}

/// Calls this before the second Ctrl-C ends the program: for what would outlive it.
pub fn call_at_once(call: fn()) {
    STATE.lock().unwrap_or_else(PoisonError::into_inner).at_once = Some(call);
}
