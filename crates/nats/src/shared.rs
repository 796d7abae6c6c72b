//! What the bridge and the thread that speaks to NATS have in common.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use fanfare_node::proto::Time;
use tokio::sync::Notify;

use crate::outbox::{Outbox, Parcel};

/// Counters of the thread that speaks to NATS.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) acknowledged: AtomicU64,
    pub(crate) retried: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) overruns: AtomicU64,
    pub(crate) reconnects: AtomicU64,
}

/// What both threads have.
#[derive(Debug)]
pub(crate) struct Shared {
    outbox: Mutex<Outbox>,
    more: Notify,
    stop: AtomicBool,
    stopping: Notify,
    /// Bytes that the server takes in one message; 0 while it is not known.
    max_payload: AtomicU64,
    pub(crate) counters: Counters,
    zero: Instant,
}

impl Shared {
    pub(crate) fn new(outbox: Outbox, zero: Instant) -> Self {
        Self {
            outbox: Mutex::new(outbox),
            more: Notify::new(),
            stop: AtomicBool::new(false),
            stopping: Notify::new(),
            max_payload: AtomicU64::new(0),
            counters: Counters::default(),
            zero,
        }
    }

    pub(crate) fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, parcel: Parcel) {
        self.outbox().push(parcel);
        self.more.notify_one();
    }

    pub(crate) fn now(&self) -> Time {
        Time::ZERO + self.zero.elapsed()
    }

    /// Comes back when there may be more to send.
    pub(crate) async fn more(&self) {
        self.more.notified().await;
    }

    /// All is to end.
    pub(crate) fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.more.notify_one();
        self.stopping.notify_one();
    }

    /// Comes back when all is to end.
    pub(crate) async fn ended(&self) {
        self.stopping.notified().await;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn set_max_payload(&self, bytes: u64) {
        self.max_payload.store(bytes, Ordering::Relaxed);
    }

    /// What the server takes in one message, bytes.
    pub(crate) fn max_payload(&self) -> u64 {
        match self.max_payload.load(Ordering::Relaxed) {
            0 => u64::MAX,
            max => max,
        }
    }
}
