//! The thread that writes: many changes in one transaction, and again what the disk refused.

use std::{
    sync::{
        Arc, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender},
    },
    time::{Duration, Instant},
};

use super::{
    SharedCondition,
    backlog::Backlog,
    condition::Condition,
    database::{Change, OpenFailure, Tables},
    fault::Fault,
    files::Files,
    outage::Outage,
};
use crate::waker::Waker;

/// Changes gathered for one transaction at most: each costs two syncs, whatever it holds.
pub(super) const GATHER: Duration = Duration::from_millis(20);
const GATHER_MAX: usize = 512;

/// What the thread is asked to do.
#[derive(Debug)]
pub(super) enum Order {
    Change(Change),
    /// Answered when all before it is on disk.
    Barrier(SyncSender<Result<(), Fault>>),
    /// All before it has had its turn.
    Mark(Arc<AtomicBool>),
}

/// What is done at once.
#[derive(Debug, Default)]
pub(super) struct Batch {
    changes: Vec<Change>,
    barriers: Vec<SyncSender<Result<(), Fault>>>,
    marks: Vec<Arc<AtomicBool>>,
}

impl Batch {
    pub(super) fn add(&mut self, order: Order) {
        match order {
            Order::Change(change) => self.changes.push(change),
            Order::Barrier(reply) => self.barriers.push(reply),
            Order::Mark(mark) => self.marks.push(mark),
        }
    }
}

/// How the tables are opened once more.
pub(super) type Reopen = Box<dyn Fn() -> Result<Tables, OpenFailure> + Send>;

/// The thread's own.
pub(super) struct Writer {
    reopen: Reopen,
    /// None when they could not be opened again.
    tables: Option<Tables>,
    files: Arc<Files>,
    backlog: Backlog,
    outage: Outage,
    condition: SharedCondition,
    waker: Waker,
}

impl Writer {
    pub(super) fn new(
        (tables, reopen): (Tables, Reopen),
        files: Arc<Files>,
        condition: SharedCondition,
        waker: Waker,
    ) -> Self {
        let (backlog, outage) = (Backlog::default(), Outage::default());
        Self { reopen, tables: Some(tables), files, backlog, outage, condition, waker }
    }

    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        while let Some(batch) = self.gather(orders) {
            self.write(batch);
            if self.outage.poll_retry(Instant::now()) {
                self.catch_up();
            }
            if self.outage.poll_over(Instant::now(), !self.backlog.is_empty()) {
                self.condition().on_mended();
                self.waker.wake();
            }
        }
        self.catch_up();
    }

    /// The next orders; none when something else is to be done, `None` at the end.
    fn gather(&self, orders: &Receiver<Order>) -> Option<Batch> {
        let mut batch = Batch::default();
        let first = match self.outage.next_timeout() {
            None => orders.recv().map_err(RecvTimeoutError::from),
            Some(at) => orders.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        let mut next = match first {
            Ok(order) => Some(order),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return None,
        };
        let end = Instant::now() + GATHER;
        while let Some(order) = next {
            batch.add(order);
            // Who waits does not wait for others.
            let left = match batch.barriers.is_empty() {
                true => end.saturating_duration_since(Instant::now()),
                false => Duration::ZERO,
            };
            if batch.changes.len() >= GATHER_MAX {
                break;
            }
            next = orders.recv_timeout(left).ok();
        }
        Some(batch)
    }

    pub(super) fn write(&mut self, batch: Batch) {
        let Batch { mut changes, barriers, marks } = batch;
        if self.outage.is_on() {
            // Others' messages wait for their turn; who publishes is told at once.
            let (own, others) = changes.into_iter().partition(Change::is_own);
            changes = own;
            self.put_off(others);
        }
        let written = self.attempt(changes);
        for barrier in barriers {
            let _ = barrier.try_send(written.clone());
        }
        for mark in &marks {
            mark.store(true, Ordering::Release);
            self.waker.wake();
        }
    }

    /// Writes all of it; what is refused waits, unless somebody is told that it was not written.
    fn attempt(&mut self, mut changes: Vec<Change>) -> Result<(), Fault> {
        if changes.is_empty() {
            return Ok(());
        }
        let written = self.apply(&mut changes);
        if let Err(fault) = &written {
            self.outage.on_refused(Instant::now());
            self.condition().on_fault(fault.clone());
            self.waker.wake();
            // Closed first, since its lock is its own; and opened at once, so that it stays ours.
            self.tables = None;
            self.tables = self.reopen().ok();
            changes.retain(|change| !change.is_own());
            self.put_off(changes);
            return written;
        }
        self.outage.on_taken();
        for change in &changes {
            match change {
                // Only now nothing points to it.
                Change::Remove(_, Some(file)) => self.files.remove(file),
                Change::PutOwn(key, ..) => self.backlog.forget(*key),
                Change::Put(..) | Change::Remove(..) => {}
            }
        }
        Ok(())
    }

    /// A message whose file cannot be made durable leaves `changes`.
    fn apply(&mut self, changes: &mut Vec<Change>) -> Result<(), Fault> {
        let tables = match self.tables.take() {
            Some(tables) => tables,
            None => self.reopen()?,
        };
        let tables = self.tables.insert(tables);
        let synced = sync_files(&self.files, changes);
        let written = synced.result.and_then(|()| tables.apply(changes));
        self.condition().on_unkept(synced.unkept);
        written
    }

    fn reopen(&self) -> Result<Tables, Fault> {
        (self.reopen)().map_err(|failure| match failure {
            OpenFailure::InUse => Fault::Other("another process has taken it".into()),
            OpenFailure::Unusable(error) => Fault::from(&error),
            OpenFailure::Broken(why, _) => why,
        })
    }

    /// Keeps them for later, as far as there is room.
    fn put_off(&mut self, changes: Vec<Change>) {
        let mut unkept = 0;
        for change in changes {
            let is_message = change.record().is_some();
            unkept += u64::from(!self.backlog.add(change) && is_message);
        }
        self.condition().on_unkept(unkept);
    }

    /// Tries what waits, until something is refused again.
    pub(super) fn catch_up(&mut self) {
        while !self.backlog.is_empty() {
            let changes = self.backlog.take(GATHER_MAX);
            if self.attempt(changes).is_err() {
                return;
            }
        }
    }

    fn condition(&self) -> MutexGuard<'_, Condition> {
        self.condition.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of the files that records name.
struct Synced {
    result: Result<(), Fault>,
    /// Others' messages that will not be written.
    unkept: u64,
}

fn sync_files(files: &Files, changes: &mut Vec<Change>) -> Synced {
    let mut synced = Synced { result: Ok(()), unkept: 0 };
    let mut any = false;
    changes.retain(|change| {
        let file = change.record().and_then(|record| record.file.as_ref());
        let Some(result) = file.map(|file| files.sync(file)) else { return true };
        any = true;
        let Err(fault) = result else { return true };
        synced.result = Err(fault);
        synced.unkept += u64::from(!change.is_own());
        false
    });
    if any && synced.result.is_ok() {
        synced.result = files.sync_names();
    }
    synced
}
