//! An instance: one lock, one thread, one queue of events.
//!
//! `fanfare-node` gives each session a thread, and hands it commands. Here one thread serves all sessions
//! of an instance, and a call is answered at once, under the lock: programs of libnorm expect both.
//!
//! - [`desk`]: what events name, and their queue
//! - `state`: what is behind the lock
//! - `starting`: how it begins; `driver`: the thread; `port`: the sockets of a session, which only the thread uses

pub mod desk;
mod driver;
mod port;
mod starting;
mod state;

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Instant,
};

use fanfare_proto::Time;

use crate::instance::desk::Event;

pub(crate) use state::{Phase, State};

/// An instance, shared by its thread and whoever calls.
#[derive(Debug)]
pub struct Shared {
    state: Mutex<State>,
    /// An event waits, or there will be none; or the thread may go on.
    changed: Condvar,
    /// Nobody holds the instance any more.
    resumed: Condvar,
    waker: OwnedFd,
    thread: Mutex<Option<JoinHandle<()>>>,
    began: Instant,
}

impl Shared {
    pub(crate) fn now(&self) -> Time {
        Time::ZERO.plus(self.began.elapsed())
    }

    /// Waits as long as another thread has suspended the instance.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = lock(&self.state);
        while state.is_suspended_for(thread::current().id()) {
            state = self.resumed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// The thread has something to do before the time that it sleeps to.
    pub(crate) fn wake(&self) {
        // Full means that it is readable already.
        let _ = rustix::io::write(&self.waker, &1_u64.to_ne_bytes());
    }

    fn clear_waker(&self) {
        let _ = rustix::io::read(&self.waker, &mut [0; 8]);
    }

    pub(crate) fn tell_changed(&self) {
        self.changed.notify_all();
    }

    /// Holds everybody else off, once more.
    pub(crate) fn suspend(&self) -> bool {
        let mut state = self.lock();
        state.phase != Phase::Destroyed && state.suspend(thread::current().id())
    }

    /// Lets go once.
    pub(crate) fn resume(&self) {
        let mut state = lock(&self.state);
        if state.resume(thread::current().id()) {
            self.resumed.notify_all();
        }
    }

    /// The next event; waits for one if it is told to. `None`: there is none, or will be none.
    pub(crate) fn next_event(&self, wait: bool) -> Option<Event> {
        let mut state = self.lock();
        state.desk.release_current();
        state.bury();
        loop {
            if state.phase == Phase::Destroyed {
                return None;
            }
            let was_full = state.desk.is_full();
            if let Some(event) = state.desk.fetch() {
                if was_full && !state.desk.is_full() {
                    self.wake();
                }
                return Some(event);
            }
            if !wait || state.phase == Phase::Stopped {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            while state.is_suspended_for(thread::current().id()) {
                state = self.resumed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// The thread pauses; the next event says that there are no more.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Running {
            state.phase = Phase::Stopped;
            state.desk.purge(|_| true);
            state.desk.post(Event::END);
            state.bury();
        }
        drop(state);
        self.tell_changed();
        self.wake();
    }

    /// It goes on. False when it is gone.
    pub(crate) fn restart(&self) -> bool {
        let mut state = self.lock();
        if state.phase == Phase::Destroyed {
            return false;
        }
        state.phase = Phase::Running;
        state.desk.purge(|event| *event == Event::END);
        drop(state);
        self.tell_changed();
        self.wake();
        true
    }

    /// Ends it, and waits for its thread. Whoever waits for an event is told that there is none.
    pub(crate) fn destroy(&self) {
        let mut state = lock(&self.state);
        state.phase = Phase::Destroyed;
        state.end_suspension();
        drop(state);
        self.resumed.notify_all();
        self.tell_changed();
        self.wake();
        let thread = lock(&self.thread).take();
        // It has nothing to say; a panic in it was told when it came.
        let _ = thread.map(JoinHandle::join);
    }
}

impl AsFd for Shared {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
