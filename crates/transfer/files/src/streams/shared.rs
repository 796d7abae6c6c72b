//! What streams share, behind one lock.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use fanfare_node::Waker;

use super::{pool::Pool, rates::Rates};

/// Behind a lock, which is taken when something changes.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked in between has left numbers that hold: each step is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is behind it.
#[derive(Debug)]
pub(super) struct State {
    pub(super) rates: Option<Rates>,
    pub(super) pool: Pool,
    pub(super) bells: BTreeMap<usize, Bell>,
    pub(super) next: usize,
}

/// Calls a driver: something has changed for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Bell {
    pub(super) asked: Arc<AtomicBool>,
    /// None before its thread runs.
    pub(super) waker: Option<Waker>,
}

impl State {
    /// Calls all whose share has changed, but for `own`, who looks anyway.
    pub(super) fn ring(&self, own: usize) {
        let unsettled = self.rates.as_ref().map(Rates::unsettled).unwrap_or_default();
        for id in unsettled.into_iter().chain(self.pool.debtors()) {
            let Some(bell) = self.bells.get(&id).filter(|_| id != own) else { continue };
            if !bell.asked.swap(true, Ordering::AcqRel)
                && let Some(waker) = &bell.waker
            {
                waker.wake();
            }
        }
    }
}
