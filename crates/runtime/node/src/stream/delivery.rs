//! What has arrived and the application has not read yet.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    task::{self, Context, Poll},
    time::{Duration, Instant},
};

use super::framing::Framing;
use crate::waker::Waker;

/// Something that has arrived.
#[derive(Debug)]
pub(super) enum Item {
    /// What the sender says of messages.
    Framing(Framing),
    Bytes {
        bytes: Vec<u8>,
        offset: u64,
        msg_start: Option<usize>,
    },
    /// Bytes before their turn, which come in order, too.
    Early {
        bytes: Vec<u8>,
        offset: u64,
        msg_start: Option<usize>,
    },
    Gap {
        from: u64,
        to: u64,
    },
    /// The stream is over, after so many bytes.
    End {
        length: u64,
    },
    /// It will not go on, and why.
    Broken(String),
}

impl Item {
    /// Bytes that wait in it.
    fn held(&self) -> usize {
        match self {
            Self::Bytes { bytes, .. } | Self::Early { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<Item>,
    held: usize,
    /// The driver waits for room.
    full: bool,
    /// The application has read, and kept, everything up to the end.
    finished: bool,
    /// The application reads no more.
    closed: bool,
    ended: bool,
    /// A task that waits for more.
    task: Option<task::Waker>,
}

/// Between the two threads.
#[derive(Debug)]
pub(super) struct Delivery {
    state: Mutex<State>,
    arrived: Condvar,
    max: usize,
    waker: Waker,
}

impl Delivery {
    /// For so many bytes that wait.
    pub(super) fn new(max: usize, waker: Waker) -> Self {
        let state = Mutex::new(State::default());
        Self { state, arrived: Condvar::new(), max: max.max(1), waker }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is room; where there is none, the driver is woken when there is.
    pub(super) fn has_room(&self) -> bool {
        let mut state = self.lock();
        state.full = state.held >= self.max;
        !state.full
    }

    pub(super) fn push(&self, item: Item) {
        let mut state = self.lock();
        state.held += item.held();
        state.items.push_back(item);
        let task = state.task.take();
        drop(state);
        self.arrived.notify_one();
        task.into_iter().for_each(task::Waker::wake);
    }

    /// The next item. `None`: nothing came in time, or nothing will.
    pub(super) fn next(&self, deadline: Option<Instant>) -> Option<Item> {
        let mut state = self.lock();
        loop {
            if let Some(item) = state.items.pop_front() {
                state.held -= item.held();
                let wake = state.full && state.held < self.max / 2 + 1;
                state.full &= !wake;
                drop(state);
                if wake {
                    self.waker.wake();
                }
                return Some(item);
            }
            if state.ended {
                return None;
            }
            let left = match deadline {
                None => Duration::from_secs(3600),
                Some(at) => at.checked_duration_since(Instant::now())?,
            };
            let waited = self.arrived.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The next item, or the task is woken when there is one. `None`: nothing will come.
    #[cfg_attr(not(feature = "tokio"), expect(dead_code, reason = "for async programs"))]
    pub(super) fn poll_next(&self, context: &Context<'_>) -> Poll<Option<Item>> {
        let mut state = self.lock();
        if state.items.is_empty() && !state.ended {
            state.task = Some(context.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        Poll::Ready(self.next(Some(Instant::now())))
    }

    /// Whether nothing more will come.
    pub(super) fn is_ended(&self) -> bool {
        self.lock().ended
    }

    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        let task = state.task.take();
        drop(state);
        self.arrived.notify_all();
        task.into_iter().for_each(task::Waker::wake);
    }

    /// The application has read everything.
    pub(super) fn finish(&self) {
        self.lock().finished = true;
        self.waker.wake();
    }

    pub(super) fn is_finished(&self) -> bool {
        self.lock().finished
    }

    /// The application reads no more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.waker.wake();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }
}
