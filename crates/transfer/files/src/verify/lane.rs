//! The thread that verifies, and hands packs to whoever unpacks.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
};

use fanfare_node::Waker;
use fanfare_node::disk::directory::Directory;

#[cfg(test)]
use super::unpacker::inline::InlineUnpacker;
use super::{Job, Verdict, check::judge, unpacker::Unpacker};
use crate::ledger::SharedLedger;

/// Files handed over but not yet begun. More wait with whoever hands them over.
const QUEUE: usize = 16;

/// Who verifies.
#[derive(Debug)]
pub(crate) struct Verifier {
    lane: Lane,
}

#[derive(Debug)]
enum Lane {
    /// A thread.
    Thread {
        jobs: Option<SyncSender<Job>>,
        verdicts: Receiver<Verdict>,
        thread: Option<JoinHandle<()>>,
    },
    /// Whoever asks for the next verdict.
    #[cfg(test)]
    Inline {
        directory: Arc<Directory>,
        ledger: SharedLedger,
        jobs: std::collections::VecDeque<Job>,
        unpacker: InlineUnpacker,
    },
}

impl Verifier {
    /// Starts the thread; it wakes the driver for each verdict.
    pub(crate) fn start(
        directory: Arc<Directory>,
        ledger: SharedLedger,
        waker: Waker,
    ) -> io::Result<Self> {
        let (jobs, queue) = sync_channel::<Job>(QUEUE);
        // Verdicts are small, and no more of them wait than objects were in view.
        let (results, verdicts) = std::sync::mpsc::channel();
        let mut unpacker =
            Unpacker::start(directory.clone(), ledger.clone(), results.clone(), waker.clone())?;
        let thread =
            std::thread::Builder::new().name("fanfare-verify".into()).spawn(move || {
                let mut unpack = |pack| unpacker.unpack(pack);
                for job in queue {
                    let Some(verdict) = judge(&directory, &ledger, &mut unpack, job) else {
                        continue;
                    };
                    if results.send(verdict).is_err() {
                        return;
                    }
                    waker.wake();
                }
            })?;
        Ok(Self { lane: Lane::Thread { jobs: Some(jobs), verdicts, thread: Some(thread) } })
    }

    /// The same without a thread: a job is done when its verdict is asked for.
    #[cfg(test)]
    pub(crate) fn inline(directory: Arc<Directory>, ledger: SharedLedger) -> Self {
        let jobs = std::collections::VecDeque::new();
        let unpacker = InlineUnpacker::new(directory.clone(), ledger.clone());
        Self { lane: Lane::Inline { directory, ledger, jobs, unpacker } }
    }

    /// Hands a job over, and back when the queue is full.
    pub(crate) fn submit(&mut self, job: Job) -> Option<Job> {
        match &mut self.lane {
            Lane::Thread { jobs, .. } => match jobs.as_ref()?.try_send(job) {
                Ok(()) => None,
                Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => Some(job),
            },
            #[cfg(test)]
            Lane::Inline { jobs, .. } if jobs.len() >= QUEUE => Some(job),
            #[cfg(test)]
            Lane::Inline { jobs, .. } => {
                jobs.push_back(job);
                None
            }
        }
    }

    /// The next verdict, if there is one.
    pub(crate) fn poll(&mut self) -> Option<Verdict> {
        match &mut self.lane {
            Lane::Thread { verdicts, .. } => verdicts.try_recv().ok(),
            #[cfg(test)]
            Lane::Inline { directory, ledger, jobs, unpacker } => {
                let mut unpack = |pack| unpacker.unpack(pack);
                let next = jobs.pop_front();
                let verdict = next.and_then(|job| judge(directory, ledger, &mut unpack, job));
                verdict.or_else(|| unpacker.poll())
            }
        }
    }
}

#[cfg(test)]
impl Verifier {
    /// Whether it has anything to do.
    fn is_busy(&self) -> bool {
        matches!(&self.lane, Lane::Inline { jobs, unpacker, .. } if !jobs.is_empty() || unpacker.is_busy())
    }
}

impl Drop for Verifier {
    /// Files handed over are still finished: they are whole.
    fn drop(&mut self) {
        match &mut self.lane {
            Lane::Thread { jobs, thread, .. } => {
                *jobs = None;
                if let Some(thread) = thread.take() {
                    let _ = thread.join();
                }
            }
            #[cfg(test)]
            Lane::Inline { .. } => while self.poll().is_some() || self.is_busy() {},
        }
    }
}
