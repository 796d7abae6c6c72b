//! Makes parts durable while they grow, beside the thread that receives them: what a failing
//! power takes is bounded.

use std::{
    fs::File,
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use crate::directory::Directory;

/// Tasks that wait. When there are more, the disk is slower than the bound asks for.
const QUEUE: usize = 64;

#[derive(Debug)]
enum Task {
    Sync(File),
    Save(String, Vec<u8>),
    Remove(String),
}

/// The thread that syncs.
#[derive(Debug)]
pub(super) struct Syncer {
    tasks: Option<SyncSender<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    /// `None` when the system gives no thread; then nothing is synced before the end.
    pub(super) fn start(directory: Arc<Directory>) -> Option<Self> {
        let (tasks, queue) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("fanfare-sync".into());
        let run = move || {
            for task in queue {
                // A disk that fails is noticed when the file is finished, or its part checked.
                match task {
                    Task::Sync(file) => drop(rustix::fs::fdatasync(&file)),
                    Task::Save(name, bytes) => drop(directory.save(&name, &bytes)),
                    Task::Remove(name) => directory.remove(&name),
                }
            }
        };
        let thread = thread.spawn(run).ok()?;
        Some(Self { tasks: Some(tasks), thread: Some(thread) })
    }

    /// Puts on disk what has been written to `file`. False when it has to be asked again.
    pub(super) fn sync(&self, file: &File) -> bool {
        file.try_clone().is_ok_and(|file| self.submit(Task::Sync(file)))
    }

    /// Writes a small file for good.
    pub(super) fn save(&self, name: String, bytes: Vec<u8>) -> bool {
        self.submit(Task::Save(name, bytes))
    }

    /// Removes a file after whatever was asked for it before.
    pub(super) fn remove(&self, name: String) -> bool {
        self.submit(Task::Remove(name))
    }

    fn submit(&self, task: Task) -> bool {
        self.tasks.as_ref().is_some_and(|tasks| tasks.try_send(task).is_ok())
    }
}

impl Drop for Syncer {
    /// What was handed over is still done.
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
