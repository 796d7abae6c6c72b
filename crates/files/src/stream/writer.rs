//! The receiver's thread that writes streams.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};

use fanfare_content::receipt::Reason;
use fanfare_disk::directory::Directory;
use fanfare_node::Waker;
use fanfare_proto::{InstanceId, NodeId};

pub(crate) use super::progress::{Arrived, Written};
use super::{progress::Progress, target::Sink};

/// Streams written to a directory at a time: as many senders as a receiver keeps in view.
const STREAMS_MAX: usize = 16;

/// One life of a sender.
pub(crate) type Life = (NodeId, InstanceId);

/// Where streams go.
#[derive(Debug)]
pub(crate) enum Destination {
    /// Each into a file of its own.
    Directory(Arc<Directory>),
    /// The first one there, and no other.
    Target(Option<Sink>),
}

#[derive(Debug)]
enum Task {
    Write(Box<Arrived>),
    /// The sender will bring no more of it.
    Forget(Life),
}

/// Who writes.
#[derive(Debug)]
pub(crate) struct StreamWriter {
    /// As many pieces as senders may have under way: each waits for its confirmation.
    tasks: Option<Sender<Task>>,
    written: Receiver<Written>,
    thread: Option<JoinHandle<()>>,
    /// It may wait for whoever reads a pipe, for ever.
    may_hang: bool,
}

impl StreamWriter {
    /// Starts the thread; it wakes the driver for each piece.
    pub(crate) fn start(destination: Destination, waker: Waker) -> io::Result<Self> {
        let (tasks, queue) = channel::<Task>();
        let (results, written) = channel();
        let may_hang = matches!(destination, Destination::Target(Some(Sink::Pipe(_))));
        let thread =
            std::thread::Builder::new().name("fanfare-stream".into()).spawn(move || {
                let mut streams = Streams { destination, streams: BTreeMap::new() };
                let mut tell = |result| {
                    // Nobody listens any more when the node has ended.
                    let _ = results.send(result);
                    waker.wake();
                };
                for task in queue {
                    streams.run(task, &mut tell);
                }
            })?;
        Ok(Self { tasks: Some(tasks), written, thread: Some(thread), may_hang })
    }

    pub(crate) fn write(&self, arrived: Arrived) {
        self.run(Task::Write(Box::new(arrived)));
    }

    pub(crate) fn forget(&self, life: Life) {
        self.run(Task::Forget(life));
    }

    fn run(&self, task: Task) {
        if let Some(tasks) = &self.tasks {
            // The thread ends with the channel only.
            let _ = tasks.send(task);
        }
    }

    /// What became of a piece, if anything is known.
    pub(crate) fn poll(&self) -> Option<Written> {
        self.written.try_recv().ok()
    }
}

impl Drop for StreamWriter {
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take().filter(|_| !self.may_hang) {
            let _ = thread.join();
        }
    }
}

struct Streams {
    destination: Destination,
    streams: BTreeMap<Life, Progress>,
}

impl Streams {
    fn run(&mut self, task: Task, tell: &mut dyn FnMut(Written)) {
        match task {
            Task::Forget(life) => drop(self.streams.remove(&life)),
            Task::Write(arrived) => {
                let key = arrived.key;
                match self.stream(&arrived) {
                    Ok(stream) => stream.accept(*arrived, tell),
                    Err(reason) => tell(Written { key, result: Err(reason) }),
                }
            }
        }
    }

    fn stream(&mut self, arrived: &Arrived) -> Result<&mut Progress, Reason> {
        let key = arrived.key;
        let is_full = self.streams.len() >= STREAMS_MAX;
        match self.streams.entry((key.sender, key.instance)) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(_) if is_full => Err(Reason::Refused),
            Entry::Vacant(entry) => {
                let sink = match &mut self.destination {
                    Destination::Directory(directory) => {
                        Sink::part(directory, key).map_err(|error| Reason::of_disk(&error))?
                    }
                    Destination::Target(sink) => sink.take().ok_or(Reason::Refused)?,
                };
                Ok(entry.insert(Progress::new(sink)))
            }
        }
    }
}
