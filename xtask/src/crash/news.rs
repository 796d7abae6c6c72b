//! Something has happened: somebody has said something, or ended, or something was heard.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

/// A bell for whoever waits, shared by all who can ring it.
#[derive(Clone, Default)]
pub(crate) struct News(Arc<(Mutex<u64>, Condvar)>);

impl News {
    /// Wakes whoever waits.
    pub(crate) fn ring(&self) {
        let (count, bell) = &*self.0;
        *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        bell.notify_all();
    }

    /// How often it has rung. To be taken before looking at what is waited for.
    pub(crate) fn count(&self) -> u64 {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it has rung more often than `seen`, at most so long.
    pub(crate) fn wait(&self, seen: u64, at_most: Duration) {
        let (count, bell) = &*self.0;
        let count = count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(bell.wait_timeout_while(count, at_most, |count| *count == seen));
    }
}
