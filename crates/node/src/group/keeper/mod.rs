//! Messages that outlive the process: a directory with a database and files of long messages.
//!
//! - `record`: a message as it is kept; `database`: all of them
//! - [`Keeper`]: the thread that writes, many changes at once; `files`: long messages
//!
//! What a publisher was told is published is there after a crash; what came from others is, up to
//! the last [`GATHER`].

mod database;
mod files;
mod record;
#[cfg(test)]
mod tests;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

pub(crate) use database::{Change, Identity, Kept};
use database::{OpenFailure, Tables, Why};
use fanfare_proto::ObjectKey;
pub(crate) use files::Files;
pub(crate) use record::{Record, now};

use crate::waker::Waker;

/// Changes gathered for one transaction at most: each costs two syncs, whatever it holds.
const GATHER: Duration = Duration::from_millis(20);
const GATHER_MAX: usize = 512;
/// Changes that wait for the disk. When it is slower than what comes, what comes is kept in memory
/// only, and counted.
const WAITING_MAX: usize = 4096;
/// redb's own default of 1 GiB is more than all that is kept here.
const PAGES_BYTES: usize = 8 << 20;
const DATABASE: &str = "messages.redb";

/// Why there is no durable cache.
#[derive(Debug)]
pub enum CacheError {
    /// The directory cannot be used.
    Directory(PathBuf, io::Error),
    /// Another process has it.
    InUse(PathBuf),
    /// It fails.
    Failed(PathBuf, String),
    /// It is another node's.
    OtherNode {
        /// The directory.
        path: PathBuf,
        /// Whose it is.
        node: u32,
    },
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path, error) => write!(
                f,
                "cache directory ({}): cannot be used ({error}). Give one that this user can write to",
                path.display()
            ),
            Self::InUse(path) => write!(
                f,
                "cache directory ({}): another process uses it. Give each its own, or stop the other",
                path.display()
            ),
            Self::Failed(path, why) => write!(
                f,
                "cache directory ({}): {why}. Check the disk, or give another directory",
                path.display()
            ),
            Self::OtherNode { path, node } => write!(
                f,
                "node id: the cache in {} is of node {node}. Use that id, none, or another directory",
                path.display()
            ),
        }
    }
}

impl std::error::Error for CacheError {}

enum Order {
    Change(Change, Option<String>),
    /// Answered when all before it is on disk.
    Barrier(SyncSender<Result<(), Why>>),
}

/// A durable cache, and the thread that writes to it.
#[derive(Debug)]
pub(crate) struct Keeper {
    orders: Option<SyncSender<Order>>,
    troubles: Receiver<Why>,
    thread: Option<JoinHandle<()>>,
    /// Changes that found no room.
    dropped: u64,
}

/// What was found where a cache is to be.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) keeper: Keeper,
    pub(crate) files: Arc<Files>,
    pub(crate) identity: Identity,
    pub(crate) kept: Kept,
    /// A database that could not be read was put aside under this name.
    pub(crate) quarantined: Option<PathBuf>,
}

impl Keeper {
    /// Opens the cache in `path`, or begins one, for a node that is `new` if it is none yet.
    pub(crate) fn open(path: &Path, new: Identity, waker: Waker) -> Result<Opened, CacheError> {
        let unusable = |error| CacheError::Directory(path.to_owned(), error);
        let files = Arc::new(Files::open(path).map_err(unusable)?);
        let (tables, identity, kept, quarantined) = open_tables(path, new)?;
        let kept = files.keep_only(kept).map_err(unusable)?;
        let (orders, to_do) = sync_channel(WAITING_MAX);
        let (told, troubles) = sync_channel(16);
        let files_of_thread = files.clone();
        let thread = std::thread::Builder::new().name("fanfare-keeper".into());
        let thread = thread
            .spawn(move || {
                let writer = Writer { tables, files: files_of_thread, told, waker };
                writer.run(&to_do);
            })
            .map_err(unusable)?;
        let (orders, thread) = (Some(orders), Some(thread));
        let keeper = Self { orders, troubles, thread, dropped: 0 };
        Ok(Opened { keeper, files, identity, kept, quarantined })
    }

    fn order(&self, order: Order) -> bool {
        self.orders.as_ref().is_some_and(|orders| orders.try_send(order).is_ok())
    }

    /// Another's message is to be kept.
    pub(crate) fn put(&mut self, key: ObjectKey, record: Record) {
        if !self.order(Order::Change(Change::Put(key, Box::new(record)), None)) {
            self.dropped += 1;
        }
    }

    /// It is no longer needed; nor is its file.
    pub(crate) fn remove(&mut self, key: ObjectKey, file: Option<String>) {
        if !self.order(Order::Change(Change::Remove(key), file)) {
            self.dropped += 1;
        }
    }

    /// A message of this node's own: on disk when this comes back.
    pub(crate) fn put_own(
        &mut self,
        key: ObjectKey,
        record: Record,
        number: (String, u64),
    ) -> Result<(), Why> {
        let (reply, answer) = sync_channel(1);
        let busy = || String::from("too much waits for the disk");
        let put = Change::PutOwn(key, Box::new(record), number);
        if !self.order(Order::Change(put, None)) || !self.order(Order::Barrier(reply)) {
            return Err(busy());
        }
        answer.recv().unwrap_or_else(|_| Err(busy()))
    }

    /// What went wrong since.
    pub(crate) fn trouble(&mut self) -> Option<Why> {
        if self.dropped > 0 {
            let dropped = std::mem::take(&mut self.dropped);
            return Some(format!(
                "the disk is too slow: {dropped} messages are kept in memory only"
            ));
        }
        self.troubles.try_recv().ok()
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

/// The database in `path`, what it holds, and where a broken one was put.
type Found = (Tables, Identity, Kept, Option<PathBuf>);

fn open_tables(path: &Path, new: Identity) -> Result<Found, CacheError> {
    let file = path.join(DATABASE);
    let unusable = |error| CacheError::Directory(path.to_owned(), error);
    let (why, mut records) = match read_tables(&file, new) {
        Ok((tables, identity, kept)) => return Ok((tables, identity, kept, None)),
        // Neither is mended by beginning anew.
        Err(OpenFailure::InUse) => return Err(CacheError::InUse(path.to_owned())),
        Err(OpenFailure::Denied(error)) => return Err(unusable(error)),
        Err(OpenFailure::Broken(why, records)) => (why, records),
    };
    let aside = path.join(format!("{DATABASE}.broken-{}", now()));
    std::fs::rename(&file, &aside).map_err(unusable)?;
    let failed = |why| CacheError::Failed(path.to_owned(), why);
    let (tables, identity, mut kept) = read_tables(&file, new).map_err(|_| failed(why))?;
    // Numbers have no check: own messages stay behind, and a new life of this node begins.
    records.retain(|(_, record)| !record.own);
    let puts = records.iter().map(|(key, record)| Change::Put(*key, Box::new(record.clone())));
    tables.apply(&puts.collect::<Vec<_>>()).map_err(failed)?;
    kept.records = records;
    Ok((tables, identity, kept, Some(aside)))
}

fn read_tables(file: &Path, new: Identity) -> Result<(Tables, Identity, Kept), OpenFailure> {
    let tables = Tables::open(file, PAGES_BYTES)?;
    let broken = |why| OpenFailure::Broken(why, Vec::new());
    let identity = tables.identity(new).map_err(broken)?;
    let kept = tables.load().map_err(broken)?;
    Ok((tables, identity, kept))
}

/// The thread.
struct Writer {
    tables: Tables,
    files: Arc<Files>,
    told: SyncSender<Why>,
    waker: Waker,
}

impl Writer {
    fn run(&self, orders: &Receiver<Order>) {
        while let Ok(first) = orders.recv() {
            let (mut changes, mut files, mut barriers) = (Vec::new(), Vec::new(), Vec::new());
            let mut next = Some(first);
            let end = Instant::now() + GATHER;
            while let Some(order) = next {
                match order {
                    Order::Change(change, file) => {
                        changes.push(change);
                        files.extend(file);
                    }
                    Order::Barrier(reply) => barriers.push(reply),
                }
                // Who waits does not wait for others.
                let left = end.saturating_duration_since(Instant::now());
                let left = if barriers.is_empty() { left } else { Duration::ZERO };
                next = match orders.recv_timeout(left) {
                    Ok(order) if changes.len() < GATHER_MAX => Some(order),
                    Ok(order) => {
                        self.write(&mut changes, &mut files, &mut barriers);
                        Some(order)
                    }
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
                };
            }
            self.write(&mut changes, &mut files, &mut barriers);
        }
    }

    fn write(
        &self,
        changes: &mut Vec<Change>,
        gone: &mut Vec<String>,
        barriers: &mut Vec<SyncSender<Result<(), Why>>>,
    ) {
        let synced = self.files.sync(changes.iter());
        let written = synced.and_then(|()| self.tables.apply(changes));
        changes.clear();
        if written.is_ok() {
            // Only now nothing points to them.
            gone.drain(..).for_each(|name| self.files.remove(&name));
        } else if barriers.is_empty()
            && let Err(why) = &written
        {
            // Who does not listen has heard it before.
            let _ = self.told.try_send(why.clone());
            self.waker.wake();
        }
        for barrier in barriers.drain(..) {
            let _ = barrier.try_send(written.clone());
        }
    }
}
