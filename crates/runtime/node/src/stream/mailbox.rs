//! What the application has written and the driver has not taken yet.

use std::{
    io,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    task::{self, Context, Poll},
    time::{Duration, Instant},
};

use fanfare_proto::StreamFlush;

use super::report::SendStatus;
use crate::waker::Waker;

/// Bytes that wait at most: some super-packets, so that neither side waits for the other at each.
const MAIL_MAX: usize = 1 << 20;

/// Said at a place between bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Note {
    /// A message of so many bytes begins, of use until then.
    Message { bytes: usize, until: Option<Instant> },
    /// What came before goes now.
    Flush(StreamFlush),
    /// Nothing follows.
    Close,
}

/// Bytes, and what was said at places between them, in order.
#[derive(Debug, Default)]
pub(super) struct Mail {
    pub(super) bytes: Vec<u8>,
    pub(super) notes: Vec<(usize, Note)>,
}

impl Mail {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.notes.is_empty()
    }
}

#[derive(Debug, Default)]
struct State {
    mail: Mail,
    /// The driver has found nothing, and is to be woken.
    asleep: bool,
    /// The driver has ended.
    ended: bool,
    status: SendStatus,
    /// A task that waits for room.
    task: Option<task::Waker>,
}

/// Between the two threads.
#[derive(Debug)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    room: Condvar,
    waker: Waker,
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the stream has ended")
}

impl Mailbox {
    pub(super) fn new(waker: Waker) -> Self {
        let state = State { asleep: true, ..State::default() };
        Self { state: Mutex::new(state), room: Condvar::new(), waker }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the driver where it sleeps.
    fn post(&self, mut state: MutexGuard<'_, State>) {
        let wake = std::mem::take(&mut state.asleep);
        drop(state);
        if wake {
            self.waker.wake();
        }
    }

    /// Takes bytes as far as there is room; waits until there is some where `waits` says so.
    pub(super) fn write(&self, bytes: &[u8], waits: bool) -> io::Result<usize> {
        let mut state = self.lock();
        while !state.ended && waits && !bytes.is_empty() && state.mail.bytes.len() >= MAIL_MAX {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.ended {
            return Err(ended());
        }
        let count = bytes.len().min(MAIL_MAX.saturating_sub(state.mail.bytes.len()));
        state.mail.bytes.extend_from_slice(&bytes[..count]);
        self.post(state);
        Ok(count)
    }

    /// Takes bytes as far as there is room, or wakes the task when there is some.
    #[cfg_attr(not(feature = "tokio"), expect(dead_code, reason = "for async programs"))]
    pub(super) fn poll_write(
        &self,
        context: &Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.lock();
        if !state.ended && !bytes.is_empty() && state.mail.bytes.len() >= MAIL_MAX {
            state.task = Some(context.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        Poll::Ready(self.write(bytes, false))
    }

    /// Takes a message with what goes before and behind it. It waits for room, but not for all of it at
    /// once.
    pub(super) fn write_message(
        &self,
        (head, bytes, tail): (&[u8], &[u8], &[u8]),
        until: Option<Instant>,
    ) -> io::Result<()> {
        let mut state = self.lock();
        while !state.ended && state.mail.bytes.len() >= MAIL_MAX {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.ended {
            return Err(ended());
        }
        let at = state.mail.bytes.len();
        let note = Note::Message { bytes: head.len() + bytes.len() + tail.len(), until };
        state.mail.notes.push((at, note));
        state.mail.bytes.extend_from_slice(head);
        let count = bytes.len().min(MAIL_MAX);
        state.mail.bytes.extend_from_slice(&bytes[..count]);
        self.post(state);
        for mut rest in [&bytes[count..], tail] {
            while !rest.is_empty() {
                let count = self.write(rest, true)?;
                rest = &rest[count..];
            }
        }
        Ok(())
    }

    /// Says something behind what was written.
    pub(super) fn say(&self, note: Note) -> io::Result<()> {
        let mut state = self.lock();
        if state.ended {
            return Err(ended());
        }
        let said = (state.mail.bytes.len(), note);
        // Once at each place: a program that flushes without writing takes no memory.
        if state.mail.notes.last() != Some(&said) {
            state.mail.notes.push(said);
        }
        self.post(state);
        Ok(())
    }

    /// What has come; `spare` takes its place. `None`: nothing has, and the driver is to be woken when
    /// something does.
    pub(super) fn take(&self, spare: &mut Mail) -> bool {
        let mut state = self.lock();
        if state.mail.is_empty() {
            state.asleep = true;
            return false;
        }
        spare.bytes.clear();
        spare.notes.clear();
        std::mem::swap(&mut state.mail, spare);
        let task = state.task.take();
        drop(state);
        self.room.notify_all();
        task.into_iter().for_each(task::Waker::wake);
        true
    }

    /// Bytes that would be taken without waiting.
    pub(super) fn vacancy(&self) -> usize {
        MAIL_MAX.saturating_sub(self.lock().mail.bytes.len())
    }

    pub(super) fn status(&self) -> SendStatus {
        self.lock().status.clone()
    }

    pub(super) fn set_status(&self, status: SendStatus) {
        self.lock().status = status;
        self.room.notify_all();
    }

    /// Waits for a change of the status, no longer than `most`.
    pub(super) fn wait(&self, most: Duration) {
        let state = self.lock();
        if !state.ended {
            drop(self.room.wait_timeout(state, most));
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.lock().ended
    }

    /// Nothing is taken any more.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        let task = state.task.take();
        drop(state);
        self.room.notify_all();
        task.into_iter().for_each(task::Waker::wake);
    }
}
