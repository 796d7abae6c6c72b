//! Ctrl-C: the first tells the other side, the second ends it at once.

use std::{
    process::exit,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use fanfare_node::Stopper;

use crate::exit::Exit;

/// Longest from the first Ctrl-C to the end, whatever hangs.
const LIMIT: Duration = Duration::from_millis(1900);

#[derive(Debug)]
struct State {
    stoppers: Vec<Stopper>,
    asked: bool,
}

static STATE: Mutex<State> = Mutex::new(State { stoppers: Vec::new(), asked: false });

/// Takes over SIGINT, SIGTERM and SIGHUP.
pub(crate) fn install() {
    // Without a handler the signal ends the process, as it would without this.
    let _ = ctrlc::set_handler(|| {
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        if state.asked || state.stoppers.is_empty() {
            exit(Exit::Interrupted as i32);
        }
        state.asked = true;
        state.stoppers.iter().for_each(Stopper::stop);
        std::thread::spawn(|| {
            std::thread::sleep(LIMIT);
            exit(Exit::Interrupted as i32);
        });
    });
}

/// Stops this node too when the user wants it.
pub(crate) fn stop_on_interrupt(stopper: Stopper) {
    STATE.lock().unwrap_or_else(PoisonError::into_inner).stoppers.push(stopper);
}
