//! How an instance begins.

use std::{
    io,
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Instant,
};

use rustix::event::{EventfdFlags, eventfd};

use super::{Shared, State, driver, lock};
use crate::{handle::Handle, instance::desk::Desk, options::Options, registry};

impl Shared {
    /// Begins an instance with its thread.
    ///
    /// # Errors
    /// When the system gives no descriptor or no thread.
    pub(crate) fn start(options: &Options) -> Option<io::Result<Handle>> {
        let made = registry::insert(|place| {
            let desk = Desk::new(place)?;
            io::Result::Ok(Arc::new(Self {
                state: Mutex::new(State::new(place, desk, options.clone())),
                changed: Condvar::new(),
                resumed: Condvar::new(),
                waker: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
                thread: Mutex::new(None),
                began: Instant::now(),
            }))
        })?;
        Some(made.and_then(|(handle, shared)| {
            let driven = Arc::clone(&shared);
            let thread = thread::Builder::new().name("norm".into());
            match thread.spawn(move || driver::run(&driven)) {
                Ok(thread) => *lock(&shared.thread) = Some(thread),
                Err(error) => {
                    registry::remove(handle);
                    return Err(error);
                }
            }
            Ok(handle)
        }))
    }
}
