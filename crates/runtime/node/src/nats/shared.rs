//! What the bridge and the thread that speaks to NATS have in common.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use crate::proto::Time;
use tokio::sync::Notify;

use crate::nats::outbox::{Outbox, Parcel};

/// Counters of the thread that speaks to NATS.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) acknowledged: AtomicU64,
    pub(crate) retried: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) overruns: AtomicU64,
    pub(crate) reconnects: AtomicU64,
    /// Messages of NATS that are for the group: those that have come, or that found no room in the client.
    pub(crate) heard: AtomicU64,
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
    /// A server is there.
    there: AtomicBool,
    /// Somebody waits for room in the outbox.
    waited_for: AtomicBool,
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
            there: AtomicBool::new(false),
            waited_for: AtomicBool::new(false),
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

    /// True if what is for NATS has to wait where it is: more than may wait here would, of a server that is there
    /// and takes it. Where none is there, the oldest gives way to the newest.
    pub(crate) fn is_full(&self) -> bool {
        let full = self.there.load(Ordering::SeqCst) && self.outbox().is_full();
        if full {
            self.waited_for.store(true, Ordering::SeqCst);
        }
        full
    }

    /// Some of the outbox was taken, or the server has gone. Gives whether somebody waited for that.
    pub(crate) fn has_changed(&self) -> bool {
        self.waited_for.swap(false, Ordering::SeqCst)
    }

    pub(crate) fn set_there(&self, there: bool) {
        self.there.store(there, Ordering::SeqCst);
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
