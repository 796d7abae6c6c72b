//! Files that changed while they were sent: each is read again, once, and sent in the place of what was
//! sent of it. Receivers never mix the two: each has a hash of its own.

use std::{
    collections::{BTreeSet, VecDeque},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, sync_channel},
    time::Duration,
};

use crate::content::source::{SourceFile, Stamp};

/// Most objects that are sent again: more are a directory at work, of which nothing whole can be had.
pub(super) const AGAIN_MAX: usize = 1000;

/// A file that nobody has written to for so long is taken for whole; and so often that is looked at.
const QUIET: Duration = Duration::from_millis(500);
const TRIES: usize = 20;

/// What reading a file again came to: what is to be sent, and what could not be read.
type Retaken = (Vec<SourceFile>, Vec<PathBuf>);

/// What is read again.
#[derive(Debug, Default)]
pub(super) struct Again {
    pub(super) waiting: VecDeque<(SourceFile, Option<u16>)>,
    /// One at a time, by a thread of its own: a large file takes longer than the driver may.
    pub(super) running: Option<Receiver<Retaken>>,
    pub(super) count: usize,
    /// Objects in whose place others are sent.
    pub(super) withdrawn: BTreeSet<u16>,
}

impl Again {
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || !self.waiting.is_empty()
    }

    pub(super) fn has_withdrawn(&self, object: u16) -> bool {
        self.withdrawn.contains(&object)
    }

    pub(super) fn start(&mut self) {
        let Some((file, instead)) = self.waiting.pop_front() else { return };
        let (done, running) = sync_channel(1);
        let thread = std::thread::Builder::new().name("fanfare-again".into());
        let path = file.changed_path();
        let lost = path.clone();
        let started = thread.spawn(move || {
            wait_until_quiet(&path);
            // Nobody listens any more when the process ends.
            let _ = done.send(file.retake(instead));
        });
        self.running = match started {
            Ok(_) => Some(running),
            Err(_) => {
                let (failed, running) = sync_channel(1);
                let _ = failed.send((Vec::new(), vec![lost]));
                Some(running)
            }
        };
    }
}

/// Whoever is writing is given time to finish.
fn wait_until_quiet(path: &Path) {
    let stamp = || Stamp::at(path);
    let mut before = stamp();
    for _ in 0..TRIES {
        std::thread::sleep(QUIET);
        let now = stamp();
        if now == before {
            return;
        }
        before = now;
    }
}
