//! Room for what waits on its way through a bridge: a bound on messages and on bytes, with a count of what
//! found no room.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
};

/// Room that a message takes beside its content, about: its names, marks and places in tables, bytes.
const OVERHEAD: u64 = 256;

/// Most that may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimit {
    /// Messages.
    pub messages: usize,
    /// Their bytes, each with some hundred for what is kept beside its content.
    pub bytes: u64,
}

impl Default for QueueLimit {
    /// 100,000 messages, 64 MiB: a burst of short messages waits as a whole, and a stuck bridge needs no
    /// more than what a node keeps for others by default.
    fn default() -> Self {
        Self { messages: 100_000, bytes: 64 << 20 }
    }
}

/// Room for what waits, shared by who hears it and who carries it.
#[derive(Debug, Clone)]
pub struct QueueRoom(Arc<Room>);

#[derive(Debug)]
struct Room {
    limit: QueueLimit,
    messages: AtomicUsize,
    bytes: AtomicU64,
    dropped: AtomicU64,
}

/// A message's place, until it is let go of.
#[derive(Debug)]
pub struct QueuePlace {
    room: Arc<Room>,
    bytes: u64,
}

impl QueueRoom {
    /// Room that is empty.
    #[must_use]
    pub fn new(limit: QueueLimit) -> Self {
        let (messages, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self(Arc::new(Room { limit, messages, bytes, dropped: AtomicU64::new(0) }))
    }

    /// A place for a message with this content, in bytes; `None` when it does not fit. Into empty room any
    /// message fits.
    #[must_use]
    pub fn enter(&self, content: usize) -> Option<QueuePlace> {
        let Self(room) = self;
        let bytes = content as u64 + OVERHEAD;
        let before = room.messages.fetch_add(1, SeqCst);
        let bytes_before = room.bytes.fetch_add(bytes, SeqCst);
        // What does not fit leaves again when this is dropped.
        let place = QueuePlace { room: room.clone(), bytes };
        let fits = before < room.limit.messages && bytes_before + bytes <= room.limit.bytes;
        (fits || before == 0).then_some(place)
    }

    /// The same; what finds no place is counted as dropped.
    #[must_use]
    pub fn enter_or_drop(&self, content: usize) -> Option<QueuePlace> {
        let place = self.enter(content);
        if place.is_none() {
            self.0.dropped.fetch_add(1, SeqCst);
        }
        place
    }

    /// True if not even a short message fits.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let Self(room) = self;
        let messages = room.messages.load(SeqCst);
        let bytes = room.bytes.load(SeqCst) + OVERHEAD;
        messages > 0 && (messages >= room.limit.messages || bytes > room.limit.bytes)
    }

    /// Messages that wait.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.0.messages.load(SeqCst) as u64
    }

    /// Messages that found no place.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(SeqCst)
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.room.bytes.fetch_sub(self.bytes, SeqCst);
        self.room.messages.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(messages: usize, bytes: u64) -> QueueRoom {
        QueueRoom::new(QueueLimit { messages, bytes })
    }

    #[test]
    fn what_does_not_fit_is_counted_and_takes_no_room() {
        let room = room(3, 1 << 20);
        let mut held: Vec<QueuePlace> = (0..3).map(|_| room.enter_or_drop(10).unwrap()).collect();
        assert!(room.is_full());
        assert!((0..5).all(|_| room.enter_or_drop(10).is_none()));
        assert_eq!((room.waiting(), room.dropped()), (3, 5));
        held.pop();
        assert!(!room.is_full() && room.enter(10).is_some());
        assert!(room.enter(10).is_some(), "who asks without a count leaves none");
        drop(held);
        assert_eq!((room.waiting(), room.dropped()), (0, 5));
    }

    #[test]
    fn bytes_are_bounded_too_and_one_message_always_fits() {
        let room = room(100, 10 * (100 + OVERHEAD));
        let held: Vec<QueuePlace> = std::iter::from_fn(|| room.enter(100)).collect();
        assert_eq!(held.len(), 10);
        drop(held);
        let long = room.enter(1 << 30).unwrap();
        assert!(room.is_full() && room.enter(0).is_none());
        drop(long);
        assert!(room.enter(0).is_some());
    }
}
