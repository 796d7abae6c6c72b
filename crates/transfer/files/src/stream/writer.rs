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

use crate::content::{receipt::Reason, stream::piece::Piece};
use fanfare_node::Waker;
use fanfare_node::disk::directory::Directory;
use fanfare_proto::{InstanceId, NodeId, ObjectKey};

pub(crate) use super::progress::{Arrived, SpaceShortage, Written};
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

impl Destination {
    /// Whether something of a stream may be there from an earlier attempt.
    pub(crate) fn may_hold(&self) -> bool {
        matches!(self, Self::Target(Some(sink)) if sink.may_hold())
    }
}

#[derive(Debug)]
enum Task {
    /// It may be in its place: what is there is looked at.
    Find(ObjectKey, Box<(Piece, [u8; 32])>),
    Write(Box<Arrived>),
    /// The sender will bring no more of it.
    Forget(Life),
}

/// What the thread tells.
#[derive(Debug)]
pub(crate) enum Told {
    /// The bytes of a piece that are in their place already; none where they are not.
    Found(ObjectKey, Option<Vec<u8>>),
    Written(Written),
}

/// Who writes.
#[derive(Debug)]
pub(crate) struct StreamWriter {
    /// As many pieces as senders may have under way: each waits for its confirmation.
    tasks: Option<Sender<Task>>,
    told: Receiver<Told>,
    thread: Option<JoinHandle<()>>,
    /// It may wait for whoever reads a pipe, for ever.
    may_hang: bool,
}

impl StreamWriter {
    /// Starts the thread; it wakes the driver for each piece.
    pub(crate) fn start(destination: Destination, waker: Waker) -> io::Result<Self> {
        let (tasks, queue) = channel::<Task>();
        let (results, told) = channel();
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
        Ok(Self { tasks: Some(tasks), told, thread: Some(thread), may_hang })
    }

    pub(crate) fn write(&self, arrived: Arrived) {
        self.run(Task::Write(Box::new(arrived)));
    }

    /// Looks whether a piece is in its place already.
    pub(crate) fn find(&self, key: ObjectKey, piece: Piece, root: [u8; 32]) {
        self.run(Task::Find(key, Box::new((piece, root))));
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
    pub(crate) fn poll(&self) -> Option<Told> {
        self.told.try_recv().ok()
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
    fn run(&mut self, task: Task, tell: &mut dyn FnMut(Told)) {
        match task {
            Task::Forget(life) => {
                if let Some(stream) = self.streams.remove(&life) {
                    stream.give_up(&mut |written| tell(Told::Written(written)));
                }
            }
            Task::Find(key, wanted) => {
                let (piece, root) = &*wanted;
                let stream = self.stream(key);
                let found = stream.ok().and_then(|stream| stream.find(piece, root));
                tell(Told::Found(key, found));
            }
            Task::Write(arrived) => {
                let key = arrived.key;
                let mut tell = |written| tell(Told::Written(written));
                match self.stream(key) {
                    Ok(stream) => stream.accept(*arrived, &mut tell),
                    Err(reason) => tell(Written::failed(key, reason)),
                }
            }
        }
    }

    fn stream(&mut self, key: ObjectKey) -> Result<&mut Progress, Reason> {
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

#[cfg(test)]
mod tests {
    use fanfare_node::disk::{placement::Conflict, scratch::Scratch};
    use fanfare_proto::ObjectTransportId;

    use super::*;

    #[test]
    fn pieces_that_wait_for_an_earlier_one_are_told_when_no_more_of_their_stream_comes() {
        let scratch = Scratch::new();
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let destination = Destination::Directory(directory);
        let mut streams = Streams { destination, streams: BTreeMap::new() };
        let mut told = Vec::new();
        let (sender, instance) = (NodeId(1), InstanceId(2));
        for number in 5..8 {
            let key = ObjectKey { sender, instance, object: ObjectTransportId(number as u16) };
            let (end, name, size) = (None, None, None);
            let piece = Piece { number, offset: number, len: 1, zeros: 0, end, name, size };
            let (bytes, root) = (vec![7], *blake3::hash(&[7]).as_bytes());
            let conflict = Conflict::default();
            let arrived = Arrived { key, piece, root, bytes, there: false, conflict };
            streams.run(Task::Write(Box::new(arrived)), &mut |what| told.push(what));
        }
        assert!(told.is_empty(), "{told:?}");
        streams.run(Task::Forget((sender, instance)), &mut |what| told.push(what));
        let aborted = |what: &Told| {
            matches!(what, Told::Written(Written { result: Err(Reason::Aborted), .. }))
        };
        assert!(told.len() == 3 && told.iter().all(aborted), "{told:?}");
    }
}
