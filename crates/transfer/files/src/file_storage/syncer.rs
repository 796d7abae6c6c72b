//! Makes parts durable while they grow, beside the thread that receives them: what a failing
//! power takes is bounded.

use std::{
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use fanfare_node::disk::{OwnFile, directory::Directory};

/// Tasks that wait. When there are more, the disk is slower than the bound asks for.
const QUEUE: usize = 64;

/// What is to be done, in the order it was asked for.
#[derive(Debug)]
pub(super) enum Task {
    /// Put on disk what has been written to `file`, and its name when `name` says so.
    Sync { file: Arc<OwnFile>, part: String, name: bool },
    /// Write a small file for good.
    Save(String, Vec<u8>),
    /// Remove a file after whatever was asked for it before.
    Remove(String),
}

impl Task {
    fn run(self, directory: &Directory) {
        match self {
            Self::Sync { file, part, name } => {
                if file.sync_data().is_err() {
                    // The next attempt must not find it: read back from memory it looks right.
                    directory.remove(&part);
                } else if name {
                    // A directory whose sync fails takes no file from then on.
                    let _ = directory.sync();
                }
            }
            // Without its manifest a part is of no use later; now it still is.
            Self::Save(name, bytes) => drop(directory.save(&name, &bytes)),
            Self::Remove(name) => directory.remove(&name),
        }
    }
}

/// Who syncs.
#[derive(Debug)]
pub(crate) struct Syncer {
    lane: Lane,
}

#[derive(Debug)]
enum Lane {
    /// A thread.
    Thread(Option<SyncSender<Task>>, Option<JoinHandle<()>>),
    /// The system gave none: nothing is synced before the end.
    None,
    /// A test, task by task.
    #[cfg(test)]
    Inline(inline::Backlog),
}

impl Syncer {
    pub(super) fn start(directory: Arc<Directory>) -> Self {
        let (tasks, queue) = sync_channel::<Task>(QUEUE);
        let thread = std::thread::Builder::new().name("fanfare-sync".into());
        let thread = thread.spawn(move || queue.into_iter().for_each(|task| task.run(&directory)));
        let lane = thread.map_or(Lane::None, |thread| Lane::Thread(Some(tasks), Some(thread)));
        Self { lane }
    }

    /// Takes no task.
    pub(super) fn none() -> Self {
        Self { lane: Lane::None }
    }

    /// False when it has to be asked again.
    pub(super) fn submit(&self, task: Task) -> bool {
        match &self.lane {
            Lane::Thread(tasks, _) => {
                tasks.as_ref().is_some_and(|tasks| tasks.try_send(task).is_ok())
            }
            Lane::None => false,
            #[cfg(test)]
            Lane::Inline(backlog) => backlog.push(task),
        }
    }
}

impl Drop for Syncer {
    /// What was handed over is still done.
    fn drop(&mut self) {
        match &mut self.lane {
            Lane::Thread(tasks, thread) => {
                *tasks = None;
                if let Some(thread) = thread.take() {
                    let _ = thread.join();
                }
            }
            Lane::None => {}
            #[cfg(test)]
            Lane::Inline(backlog) => while backlog.run_next() {},
        }
    }
}

/// The same tasks without a thread, done when a test says so.
#[cfg(test)]
pub(crate) mod inline {
    use std::{
        collections::VecDeque,
        sync::{Arc, Mutex},
    };

    use super::{Directory, Lane, QUEUE, Syncer, Task};

    /// Tasks that wait.
    #[derive(Debug, Clone)]
    pub(crate) struct Backlog {
        directory: Arc<Directory>,
        tasks: Arc<Mutex<VecDeque<Task>>>,
    }

    impl Backlog {
        pub(crate) fn new(directory: Arc<Directory>) -> Self {
            Self { directory, tasks: Arc::default() }
        }

        /// A syncer whose tasks wait here.
        pub(crate) fn syncer(&self) -> Syncer {
            Syncer { lane: Lane::Inline(self.clone()) }
        }

        pub(super) fn push(&self, task: Task) -> bool {
            let mut tasks = self.tasks.lock().unwrap();
            let room = tasks.len() < QUEUE;
            if room {
                tasks.push_back(task);
            }
            room
        }

        /// Does the oldest task; false when there was none.
        pub(crate) fn run_next(&self) -> bool {
            let task = self.tasks.lock().unwrap().pop_front();
            task.map(|task| task.run(&self.directory)).is_some()
        }
    }
}
