//! Messages that outlive the process: a directory with a database and files of long messages.
//!
//! - `record`: a message as it is kept; `database`: all of them; `files`: long ones
//! - [`Keeper`]: what the node asks; `writer`: the thread that writes, many changes at once
//! - `fault`, `outage`, `backlog`, `condition`: a disk that refuses, what waits for it, what is said of it
//! - `cache_error`: why there is none; `layout`: what the database is called
//! - `opening`: what an earlier life has left; `salvage`: of a database that is damaged
//!
//! What a publisher was told is published is there after a crash; what came from others is, up to
//! the last 20 ms.

mod backlog;
mod cache_error;
mod condition;
mod database;
mod fault;
mod files;
mod layout;
mod opening;
mod outage;
mod record;
mod salvage;
#[cfg(test)]
mod tests;
mod writer;

pub use cache_error::CacheError;
use condition::SharedCondition;
use layout::{DATABASE, PAGES_BYTES};
use std::{
    path::Path,
    sync::{
        Arc, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use condition::Condition;
pub(crate) use condition::News;
use database::{Change, Tables};
pub(crate) use database::{Identity, Kept};
use fanfare_proto::ObjectKey;
pub(crate) use fault::{Fault, is_full};
pub(crate) use files::Files;
pub use opening::Damage;
pub(crate) use record::{Record, now};
use writer::{Order, Reopen, Writer};

use crate::waker::Waker;

/// Changes that wait for the thread. When the disk is slower than what comes, what comes is kept in
/// memory only, and counted.
const WAITING_MAX: usize = 4096;

/// A durable cache, and the thread that writes to it.
#[derive(Debug)]
pub(crate) struct Keeper {
    orders: Option<SyncSender<Order>>,
    condition: SharedCondition,
    /// Set by the thread once it has done all that was asked before.
    mark: Option<Arc<AtomicBool>>,
    thread: Option<JoinHandle<()>>,
}

/// What was found where a cache is to be.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) keeper: Keeper,
    pub(crate) files: Arc<Files>,
    #[cfg_attr(not(test), expect(dead_code, reason = "versions before are that again"))]
    pub(crate) identity: Identity,
    pub(crate) kept: Kept,
    /// What of an earlier life is not what it was.
    pub(crate) damage: Option<Damage>,
}

impl Keeper {
    /// Opens the cache in `path`, or begins one, for a node that is `new` if it is none yet.
    pub(crate) fn open(path: &Path, new: Identity, waker: Waker) -> Result<Opened, CacheError> {
        let unusable = |error| CacheError::Directory(path.to_owned(), error);
        let files = Arc::new(Files::open(path).map_err(unusable)?);
        let found = opening::open(path, new, &files)?;
        let (orders, to_do) = sync_channel(WAITING_MAX);
        let condition = SharedCondition::default();
        let database = path.join(DATABASE);
        let reopen = Box::new(move || Tables::reopen(&database, PAGES_BYTES));
        let tables = (found.tables, reopen as Reopen);
        let writer = Writer::new(tables, files.clone(), condition.clone(), waker);
        let thread = std::thread::Builder::new().name("fanfare-keeper".into());
        let thread = thread.spawn(move || writer.run(&to_do)).map_err(unusable)?;
        let (orders, thread) = (Some(orders), Some(thread));
        let keeper = Self { orders, condition, mark: None, thread };
        let (identity, kept, damage) = (found.identity, found.kept, found.damage);
        Ok(Opened { keeper, files, identity, kept, damage })
    }

    fn order(&self, order: Order) -> bool {
        self.orders.as_ref().is_some_and(|orders| orders.try_send(order).is_ok())
    }

    fn condition(&self) -> MutexGuard<'_, Condition> {
        self.condition.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The disk is behind, and `unkept` messages are in memory only.
    fn fall_behind(&mut self, unkept: u64) {
        // What was asked for before says nothing of this.
        self.mark = None;
        let mut condition = self.condition();
        condition.on_slow();
        condition.on_unkept(unkept);
    }

    /// Another's message is to be kept.
    pub(crate) fn put(&mut self, key: ObjectKey, record: Record) {
        if !self.order(Order::Change(Change::Put(key, Box::new(record)))) {
            self.fall_behind(1);
        }
    }

    /// It is no longer needed; nor is its file.
    pub(crate) fn remove(&mut self, key: ObjectKey, file: Option<String>) {
        if !self.order(Order::Change(Change::Remove(key, file))) {
            self.fall_behind(0);
        }
    }

    /// A message of this node's own: on disk when this comes back.
    pub(crate) fn put_own(
        &mut self,
        key: ObjectKey,
        record: Record,
        number: (String, u64),
    ) -> Result<(), Fault> {
        let (reply, answer) = sync_channel(1);
        let busy = || Fault::Other("too much waits for the disk".into());
        let put = Change::PutOwn(key, Box::new(record), number);
        if !self.order(Order::Change(put)) || !self.order(Order::Barrier(reply)) {
            return Err(busy());
        }
        answer.recv().unwrap_or_else(|_| Err(busy()))
    }

    /// What the application should know since.
    pub(crate) fn news(&mut self) -> Option<News> {
        if self.condition().is_slow() {
            if self.mark.is_none() {
                let mark = Arc::new(AtomicBool::new(false));
                self.mark = self.order(Order::Mark(mark.clone())).then_some(mark);
            }
            if self.mark.as_ref().is_some_and(|mark| mark.load(Ordering::Acquire)) {
                self.mark = None;
                self.condition().on_caught_up();
            }
        }
        self.condition().poll_news()
    }
}

impl Drop for Keeper {
    /// What is waiting is written.
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
