//! Messages on their way from a program's threads to the member: many of them for one wake-up, and
//! without a place in memory of their own.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use fanfare_messaging::{Batcher, Options, Topic, batch};

use super::command::Command;
use super::{Body, GroupError, GroupHandle, fates::Watch};
use crate::waker::Waker;

/// Bytes that wait before who publishes waits, too: some batches, so that the member always finds a
/// full one.
const ROOM: usize = 512 << 10;
/// Nobody is to be woken, however much comes.
const NEVER: usize = usize::MAX;

/// What one [`MessageSender`] says of all its messages.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) topic: Topic,
    pub(crate) options: Options,
    pub(crate) watch: Watch,
    /// Why a message of it was not published.
    failed: Mutex<Option<GroupError>>,
}

impl Line {
    pub(crate) fn fail(&self, error: GroupError) {
        *lock(&self.failed) = Some(error);
    }
}

/// Messages of one line, in the order in which they were published.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) line: Arc<Line>,
    pub(crate) content: Vec<u8>,
}

#[derive(Debug)]
struct Waiting {
    chunks: VecDeque<Chunk>,
    bytes: usize,
    /// The member is woken when so many bytes are there.
    wake_at: usize,
    /// Emptied chunks, to be filled again.
    spare: Vec<Vec<u8>>,
    blocked: usize,
    ended: bool,
}

#[derive(Debug)]
struct Shared {
    waiting: Mutex<Waiting>,
    room: Condvar,
    waker: Waker,
}

/// The programs' end of it.
#[derive(Debug, Clone)]
pub(crate) struct Intake(Arc<Shared>);

/// The member's end. When it is dropped, nobody waits any more.
#[derive(Debug)]
pub(crate) struct IntakeReader(Arc<Shared>);

/// Publishes short messages of one topic, fast: those that are published close together travel
/// together. Made by [`GroupHandle::sender`].
#[derive(Debug, Clone)]
pub struct MessageSender {
    line: Arc<Line>,
    group: GroupHandle,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn intake(waker: Waker) -> (Intake, IntakeReader) {
    let waiting = Waiting {
        chunks: VecDeque::new(),
        bytes: 0,
        wake_at: 1,
        spare: Vec::new(),
        blocked: 0,
        ended: false,
    };
    let waiting = Mutex::new(waiting);
    let shared = Arc::new(Shared { waiting, room: Condvar::new(), waker });
    (Intake(Arc::clone(&shared)), IntakeReader(shared))
}

impl Intake {
    /// Puts a message behind the others; waits while there is no room.
    fn put(&self, line: &Arc<Line>, message: &[u8]) -> Result<(), GroupError> {
        let Self(shared) = self;
        let mut waiting = lock(&shared.waiting);
        while waiting.bytes >= ROOM && !waiting.ended {
            waiting.blocked += 1;
            waiting = shared.room.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            waiting.blocked -= 1;
        }
        if waiting.ended {
            return Err(GroupError::Ended);
        }
        let Waiting { chunks, bytes, wake_at, spare, .. } = &mut *waiting;
        match chunks.back_mut() {
            Some(chunk) if Arc::ptr_eq(&chunk.line, line) && chunk.content.len() < batch_max() => {
                append(message, &mut chunk.content, bytes);
            }
            _ => {
                let mut content = spare.pop().unwrap_or_default();
                append(message, &mut content, bytes);
                chunks.push_back(Chunk { line: Arc::clone(line), content });
            }
        }
        if *bytes >= *wake_at {
            *wake_at = NEVER;
            drop(waiting);
            shared.waker.wake();
        }
        Ok(())
    }
}

fn append(message: &[u8], content: &mut Vec<u8>, bytes: &mut usize) {
    let before = content.len();
    batch::append(message, content);
    *bytes += content.len() - before;
}

/// A chunk has about a batch's bytes.
fn batch_max() -> usize {
    fanfare_messaging::batcher::BATCH_MAX
}

impl IntakeReader {
    /// The next messages.
    pub(crate) fn take(&self) -> Option<Chunk> {
        let mut waiting = lock(&self.0.waiting);
        let chunk = waiting.chunks.pop_front()?;
        waiting.bytes -= chunk.content.len();
        if waiting.blocked > 0 && waiting.bytes < ROOM / 2 {
            self.0.room.notify_all();
        }
        Some(chunk)
    }

    /// A chunk has been read.
    pub(crate) fn give_back(&self, mut content: Vec<u8>) {
        /// As many as are on their way.
        const SPARE: usize = ROOM / fanfare_messaging::batcher::BATCH_MAX;
        let mut waiting = lock(&self.0.waiting);
        if waiting.spare.len() < SPARE {
            content.clear();
            waiting.spare.push(content);
        }
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.0.waiting).bytes
    }

    /// Whether so many bytes are there by now; if not, the member is woken when they are.
    pub(crate) fn has(&self, bytes: usize) -> bool {
        let mut waiting = lock(&self.0.waiting);
        let there = waiting.bytes >= bytes;
        waiting.wake_at = if there { NEVER } else { bytes };
        there
    }

    /// The member looks again by itself.
    pub(crate) fn look_later(&self) {
        lock(&self.0.waiting).wake_at = NEVER;
    }
}

impl Drop for IntakeReader {
    fn drop(&mut self) {
        lock(&self.0.waiting).ended = true;
        self.0.room.notify_all();
    }
}

impl GroupHandle {
    /// Publishes messages of one topic with these options from now on, fast. From then on the member measures
    /// how far the others are, so that losses are repaired within a few round trips. `watch`: what of them
    /// [`Self::fates`] tells; with [`Watch::Holders`] it also waits for subscribers that lag behind,
    /// as long as what they lack can be repaired.
    #[must_use]
    pub fn sender(&self, topic: Topic, options: Options, watch: Watch) -> MessageSender {
        // A member that has ended says so when something is published.
        let _ = self.commands.send(Command::Hasten);
        self.stopper.wake();
        let line = Line { topic, options, watch, failed: Mutex::new(None) };
        MessageSender { line: Arc::new(line), group: self.clone() }
    }
}

impl MessageSender {
    /// Publishes a message, after all before it. It goes at once when the member is idle, and within
    /// about a millisecond when it is busy. Waits while too many wait.
    ///
    /// # Errors
    /// An earlier message could not be published, this one is too large, or the member has ended.
    pub fn send(&self, message: &[u8]) -> Result<(), GroupError> {
        if !Batcher::takes(&self.line.options, message.len())
            || message.len() as u64 > self.group.message_max
        {
            let (topic, options) = (self.line.topic.clone(), self.line.options);
            let body = Body::new(message.to_vec());
            self.group.flush()?;
            return self.group.publish(topic, body, options, self.line.watch).map(|_| ());
        }
        self.check()?;
        self.group.intake.put(&self.line, message)
    }

    /// Waits until all messages are on their way.
    ///
    /// # Errors
    /// One could not be published, or the member has ended.
    pub fn flush(&self) -> Result<(), GroupError> {
        self.group.flush()?;
        self.check()
    }

    fn check(&self) -> Result<(), GroupError> {
        lock(&self.line.failed).take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Arc<Line> {
        let (topic, options) = (Topic::new("a").unwrap(), Options::default());
        Arc::new(Line { topic, options, watch: Watch::Nothing, failed: Mutex::new(None) })
    }
    fn taken(reader: &IntakeReader) -> Vec<Vec<u8>> {
        let chunks = std::iter::from_fn(|| reader.take());
        chunks
            .flat_map(|c| batch::messages(&c.content).map(<[u8]>::to_vec).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn messages_of_several_lines_come_out_in_the_order_in_which_they_were_published() {
        let (intake, reader) = intake(Waker::new().unwrap());
        let (one, other) = (line(), line());
        for (number, line) in [&one, &one, &other, &one].into_iter().enumerate() {
            intake.put(line, &[number as u8]).unwrap();
        }
        assert_eq!(taken(&reader), [[0], [1], [2], [3]]);
        assert!(reader.bytes() == 0 && !reader.has(1));
    }

    #[test]
    fn who_publishes_more_than_there_is_room_for_waits_until_it_is_taken_or_the_member_ends() {
        let (intake, reader) = intake(Waker::new().unwrap());
        let publisher = std::thread::spawn(move || {
            let line = line();
            (0..).find_map(|number: u64| match intake.put(&line, &[7; 1000]) {
                Ok(()) => None,
                Err(error) => Some((number, error)),
            })
        });
        let mut count = 0;
        while count < 3_000 {
            count += taken(&reader).len();
        }
        drop(reader);
        let (put, error) = publisher.join().unwrap().unwrap();
        assert_eq!(error, GroupError::Ended);
        // Half a mebibyte of them waits at most, and the chunk that is put together.
        let least = count as u64;
        assert!((least..least + 1_200).contains(&put), "{put} of which {count} were taken");
    }
}
