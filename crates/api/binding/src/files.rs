//! Files that are sent or received.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError, mpsc::RecvTimeoutError},
};

use fanfare::{Sources, Transfer, groups::Stopper};

use crate::{
    error::Error,
    event::Event,
    options::{Options, Purpose},
    report::Report,
    wait::Wait,
};

/// Files that are sent or received, by a thread of their own. Dropping it stops it.
#[derive(Debug)]
pub struct Files {
    transfer: Mutex<Option<Transfer>>,
    stopper: Stopper,
}

fn ended() -> Error {
    Error::ended("transfer")
}

impl Files {
    /// Sends files and folders to a group.
    ///
    /// # Errors
    /// An option or a path that cannot be; what this machine refuses.
    pub fn send(group: &str, paths: Vec<PathBuf>, options: &Options) -> Result<Self, Error> {
        let network = options.network(group, Purpose::SendFiles)?;
        let sending = options.send_files()?;
        let sources = Sources::of(paths)?;
        Ok(Self::new(Transfer::over(network).send(sources, sending).start()?))
    }

    /// Receives files from a group into a folder.
    ///
    /// # Errors
    /// An option that cannot be; what this machine refuses.
    pub fn receive(group: &str, directory: &Path, options: &Options) -> Result<Self, Error> {
        let network = options.network(group, Purpose::ReceiveFiles)?;
        let receiving = options.receive_files();
        Ok(Self::new(Transfer::over(network).receive(directory, receiving).start()?))
    }

    fn new(transfer: Transfer) -> Self {
        Self { stopper: transfer.stopper(), transfer: Mutex::new(Some(transfer)) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Transfer>> {
        self.transfer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has happened next.
    ///
    /// # Errors
    /// Nothing has in time; it has ended and everything was told.
    pub fn next(&self, wait: Wait) -> Result<Event, Error> {
        let transfer = self.lock();
        let transfer = transfer.as_ref().ok_or_else(ended)?;
        let deadline = wait.deadline();
        let found = wait.run(|time| {
            let mut left = time;
            loop {
                match transfer.next_event(left) {
                    Ok(event) => match Event::of_transfer(event) {
                        Some(event) => return Some(Ok(event)),
                        // The time does not begin anew with what nobody is told.
                        None => left = left_of(deadline, time),
                    },
                    Err(RecvTimeoutError::Timeout) => return None,
                    Err(RecvTimeoutError::Disconnected) => return Some(Err(ended())),
                }
            }
        });
        found.unwrap_or_else(|| Err(Error::timeout()))
    }

    /// Waits for the end, and says what it came to. What happens meanwhile is not told.
    ///
    /// # Errors
    /// It was asked already.
    pub fn finish(&self) -> Result<Report, Error> {
        let transfer = self.lock().take().ok_or_else(ended)?;
        Ok(Report::of_files(transfer.finish()))
    }

    /// Asks it to end, from any thread.
    pub fn stop(&self) {
        self.stopper.stop();
    }
}

pub(crate) fn left_of(
    deadline: Option<std::time::Instant>,
    otherwise: std::time::Duration,
) -> std::time::Duration {
    deadline.map_or(otherwise, |at| at.saturating_duration_since(std::time::Instant::now()))
}
