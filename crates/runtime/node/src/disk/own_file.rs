//! A file of our own, whose failed sync is never forgotten.
//!
//! When a sync fails the kernel calls the pages clean that it could not write, and tells it once:
//! the next sync succeeds, what is read back from memory looks right, and the disk holds something
//! else. So the first failure is the last word on a file, whichever thread hears of it.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use fanfare_udp::os::io::Errno;

use super::FileHandle;

/// An open file of our own, for all threads that have to do with it.
#[derive(Debug)]
pub struct OwnFile {
    handle: Arc<dyn FileHandle>,
    /// Held while a sync runs, so that nobody else's succeeds before its failure is known.
    lost: Mutex<bool>,
}

impl OwnFile {
    /// A file that no sync has failed of yet.
    pub fn new(handle: Arc<dyn FileHandle>) -> Arc<Self> {
        Arc::new(Self { handle, lost: Mutex::new(false) })
    }

    /// The file itself, for everything but syncing.
    pub fn handle(&self) -> &dyn FileHandle {
        &*self.handle
    }

    /// Makes content, length and properties durable; for good an error after the first.
    pub fn sync(&self) -> Result<(), Errno> {
        self.sync_by(|handle| handle.sync())
    }

    /// Makes content and length durable; for good an error after the first.
    pub fn sync_data(&self) -> Result<(), Errno> {
        self.sync_by(|handle| handle.sync_data())
    }

    fn sync_by(
        &self,
        sync: impl FnOnce(&dyn FileHandle) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if *lost {
            return Err(Errno::IO);
        }
        let synced = sync(&*self.handle);
        *lost = synced.is_err();
        synced
    }

    /// Whether a sync has failed, as far as it is known without waiting for one that runs.
    pub fn is_lost(&self) -> bool {
        match self.lost.try_lock() {
            Ok(lost) => *lost,
            Err(TryLockError::Poisoned(lost)) => *lost.into_inner(),
            Err(TryLockError::WouldBlock) => false,
        }
    }
}
