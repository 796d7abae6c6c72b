//! How many messages an application may have at once: those that it has not let go of hold the next back.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
};

use super::body::MEMORY_MAX;
use crate::waker::Waker;

/// Messages at once: who writes each to a disk still has the next at hand.
const MESSAGES_MAX: usize = 256;
/// Or so many of their bytes in memory. A hundred programs that have stopped reading hold 100 MiB.
const BYTES_MAX: u64 = 1 << 20;
/// A message in a file counts for so many: four at once, since their files may be held by nobody else any
/// more.
const FILE_BYTES: u64 = BYTES_MAX / 4;

/// Through which messages go to whoever takes them. Subscriptions may share one: then they share the room.
#[derive(Debug, Clone)]
pub struct Gate(Arc<Room>);

#[derive(Debug)]
struct Room {
    messages: AtomicUsize,
    bytes: AtomicU64,
    /// The driver has found it full, and is to be woken.
    waited_for: AtomicBool,
    waker: Waker,
}

impl Room {
    fn is_full(&self) -> bool {
        self.messages.load(SeqCst) >= MESSAGES_MAX || self.bytes.load(SeqCst) >= BYTES_MAX
    }

    fn is_half_empty(&self) -> bool {
        self.messages.load(SeqCst) <= MESSAGES_MAX / 2 && self.bytes.load(SeqCst) <= BYTES_MAX / 2
    }
}

/// A message's place in a gate, until all copies of the message are let go of.
#[derive(Debug, Clone)]
pub(crate) struct Permit(
    #[expect(dead_code, reason = "what counts is when it is dropped")] Arc<Held>,
);

#[derive(Debug)]
struct Held {
    room: Arc<Room>,
    bytes: u64,
}

impl Gate {
    pub(crate) fn new(waker: Waker) -> Self {
        let (messages, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self(Arc::new(Room { messages, bytes, waited_for: AtomicBool::new(false), waker }))
    }

    /// A place for a message of so many bytes. Only the driver's thread asks.
    pub(crate) fn enter(&self, size: u64) -> Option<Permit> {
        let Self(room) = self;
        let bytes = if size <= MEMORY_MAX { size } else { FILE_BYTES };
        if room.is_full() {
            room.waited_for.store(true, SeqCst);
            // Who has left meanwhile did not know that somebody waits.
            if room.is_full() {
                return None;
            }
        }
        room.messages.fetch_add(1, SeqCst);
        room.bytes.fetch_add(bytes, SeqCst);
        Some(Permit(Arc::new(Held { room: room.clone(), bytes })))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.bytes.fetch_sub(self.bytes, SeqCst);
        self.room.messages.fetch_sub(1, SeqCst);
        if self.room.is_half_empty() && self.room.waited_for.swap(false, SeqCst) {
            self.room.waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn is_woken(waker: &Waker) -> bool {
        let fd = waker.as_fd();
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&at_once)).unwrap() > 0
    }

    #[test]
    fn who_holds_as_many_as_may_be_gets_the_next_once_half_of_them_are_gone() {
        let waker = Waker::new().unwrap();
        let gate = Gate::new(waker.clone());
        let mut held: Vec<Permit> = std::iter::from_fn(|| gate.enter(1)).collect();
        assert_eq!(held.len(), MESSAGES_MAX);
        held.truncate(MESSAGES_MAX / 2 + 1);
        assert!(!is_woken(&waker));
        held.truncate(MESSAGES_MAX / 2);
        assert!(is_woken(&waker) && gate.enter(1).is_some());
    }

    #[test]
    fn long_messages_are_fewer_at_once_and_a_copy_holds_its_place() {
        let gate = Gate::new(Waker::new().unwrap());
        let held: Vec<Permit> = std::iter::from_fn(|| gate.enter(64 << 10)).collect();
        assert_eq!(held.len() as u64, BYTES_MAX / (64 << 10));
        let copies = held.clone();
        drop(held);
        assert!(gate.enter(0).is_none());
        drop(copies);
        assert!(gate.enter(0).is_some());
        let files: Vec<Permit> = std::iter::from_fn(|| gate.enter(1 << 30)).collect();
        assert_eq!(files.len(), 4);
    }

    #[test]
    fn nobody_is_woken_who_does_not_wait() {
        let waker = Waker::new().unwrap();
        let gate = Gate::new(waker.clone());
        drop(gate.enter(1));
        assert!(!is_woken(&waker));
    }
}
