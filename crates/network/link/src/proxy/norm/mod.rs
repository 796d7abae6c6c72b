//! Connections over a NORM session beside the link's QUIC connection: one session for all of them.
//!
//! - `engine`: the session, its spans and its seal, without I/O; `driver`: its task
//! - `kept`: what is not acknowledged; `fit`: segments that fit the path; `warm`: how a session learns
//!   its rate
//! - `road`: tests of all of it over a modelled road
//! - [`Norm`]: the connections, for those who write and read them

mod driver;
mod engine;
mod fit;
mod kept;
#[cfg(test)]
mod road;
mod warm;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::{Link, clock::Clock};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::proxy::{
    ends::{Read, Reset},
    mux::{Event, Mux, Violation},
};

pub use engine::Sending;
pub use warm::WARM_UP;

/// Requests of the other end that may wait to be looked at.
const OPENED_MAX: usize = 4096;

/// Who waits for something to happen to a connection.
#[derive(Debug, Default)]
struct Waiter {
    news: Notify,
    reset: AtomicBool,
}

/// How the session is.
#[derive(Debug, Clone, Default)]
pub struct NormStatus {
    /// Bits per second.
    pub rate: u64,
    /// Why it is that.
    pub reason: String,
    /// The round trip.
    pub round_trip: Duration,
    /// Spans that are not acknowledged.
    pub kept: usize,
    /// Connections.
    pub connections: usize,
    /// Messages sent: all, those with source symbols, with parity unasked, and repairs.
    pub sent: [u64; 4],
}

/// All connections of a link that go by NORM.
#[derive(Debug)]
pub struct Norm {
    mux: Mutex<Mux>,
    clock: Clock,
    /// The driver has something to do.
    wake: Notify,
    waiters: Mutex<HashMap<u64, Arc<Waiter>>>,
    replies: Mutex<HashMap<u64, oneshot::Sender<Vec<u8>>>>,
    to_opened: mpsc::Sender<(u64, Vec<u8>)>,
    opened: tokio::sync::Mutex<mpsc::Receiver<(u64, Vec<u8>)>>,
    status: Mutex<NormStatus>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Norm {
    /// Over this link. It has to be called within a runtime of tokio.
    pub(crate) fn start(link: &Link, own: [u8; 32], sending: Sending) -> Arc<Self> {
        let role = u64::from(own > link.key().0);
        let (to_opened, opened) = mpsc::channel(OPENED_MAX);
        let norm = Arc::new(Self {
            mux: Mutex::new(Mux::new(role)),
            clock: Clock::start(),
            wake: Notify::new(),
            waiters: Mutex::default(),
            replies: Mutex::default(),
            to_opened,
            opened: tokio::sync::Mutex::new(opened),
            status: Mutex::default(),
        });
        tokio::spawn(driver::run(norm.clone(), link.clone(), role, sending));
        tokio::spawn(driver::hear(norm.clone(), link.clone()));
        norm
    }

    /// How it is.
    #[must_use]
    pub fn status(&self) -> NormStatus {
        lock(&self.status).clone()
    }

    /// Does something to the connections, and tells all whom it concerns.
    fn with<R>(&self, run: impl FnOnce(&mut Mux) -> R) -> R {
        let mut mux = lock(&self.mux);
        let result = run(&mut mux);
        while let Some(event) = mux.poll_event() {
            self.tell(&mut mux, event);
        }
        result
    }

    fn tell(&self, mux: &mut Mux, event: Event) {
        match event {
            Event::Opened(id, frame) => {
                if self.to_opened.try_send((id, frame)).is_err() {
                    mux.reset(id);
                }
            }
            Event::Replied(id, frame) => {
                if let Some(waiting) = lock(&self.replies).remove(&id) {
                    // Who asked may have gone.
                    let _ = waiting.send(frame);
                }
            }
            Event::Reset(id) => {
                lock(&self.replies).remove(&id);
                if let Some(waiter) = lock(&self.waiters).get(&id) {
                    waiter.reset.store(true, Ordering::Release);
                    waiter.news.notify_waiters();
                }
            }
            Event::Readable(id) | Event::Writable(id) => {
                if let Some(waiter) = lock(&self.waiters).get(&id) {
                    waiter.news.notify_waiters();
                }
            }
        }
    }

    fn handle(self: &Arc<Self>, id: u64) -> Handle {
        let waiter = Arc::new(Waiter::default());
        lock(&self.waiters).insert(id, waiter.clone());
        Handle(Arc::new(Inner { norm: self.clone(), id, waiter }))
    }

    /// Asks for a connection; `frame` is made with the credit that it grants, and these bytes go with it.
    pub(crate) async fn open(
        self: &Arc<Self>,
        frame: impl FnOnce(u64) -> Vec<u8>,
        first: &[u8],
    ) -> Option<(Handle, Vec<u8>)> {
        let (sender, receiver) = oneshot::channel();
        let id = {
            let mut mux = lock(&self.mux);
            let frame = frame(mux.first_credit());
            let id = mux.open_with(frame, first.to_vec());
            lock(&self.replies).insert(id, sender);
            id
        };
        let handle = self.handle(id);
        self.wake.notify_one();
        let reply = receiver.await.ok()?;
        Some((handle, reply))
    }

    /// The next request of the other end.
    pub(crate) async fn accept(self: &Arc<Self>) -> Option<(Handle, Vec<u8>)> {
        let (id, frame) = self.opened.lock().await.recv().await?;
        Some((self.handle(id), frame))
    }

    fn on_control(&self, bytes: &[u8]) -> Result<(), Violation> {
        let done = self.with(|mux| mux.on_control(bytes));
        self.wake.notify_one();
        done
    }

    fn reset_all(&self) {
        lock(&self.replies).clear();
        self.with(Mux::reset_all);
    }
}

#[derive(Debug)]
struct Inner {
    norm: Arc<Norm>,
    id: u64,
    waiter: Arc<Waiter>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        lock(&self.norm.waiters).remove(&self.id);
        lock(&self.norm.replies).remove(&self.id);
        // One that has ended by itself is no more.
        self.norm.with(|mux| mux.reset(self.id));
        self.norm.wake.notify_one();
    }
}

/// One connection. When the last copy is dropped, a connection that has not ended is reset.
#[derive(Debug, Clone)]
pub struct Handle(Arc<Inner>);

impl Handle {
    fn is_reset(&self) -> bool {
        self.0.waiter.reset.load(Ordering::Acquire)
    }

    /// The other end takes so much at first.
    pub(crate) fn on_first_credit(&self, credit: u64) {
        self.0.norm.with(|mux| mux.on_first_credit(self.0.id, credit));
    }

    /// Answers the other end's request, granting what it was granted at first.
    pub(crate) fn reply(&self, frame: impl FnOnce(u64) -> Vec<u8>) {
        self.0.norm.with(|mux| {
            let frame = frame(mux.granted_first(self.0.id));
            mux.reply(self.0.id, frame);
        });
        self.0.norm.wake.notify_one();
    }

    pub(crate) async fn write(&self, mut bytes: &[u8]) -> Result<(), Reset> {
        let inner = &self.0;
        while !bytes.is_empty() {
            let news = inner.waiter.news.notified();
            let now = inner.norm.clock.now();
            let taken = inner.norm.with(|mux| mux.write(now, inner.id, bytes));
            match taken {
                None => return Err(Reset),
                Some(0) => news.await,
                Some(taken) => {
                    bytes = &bytes[taken..];
                    inner.norm.wake.notify_one();
                }
            }
            if self.is_reset() {
                return Err(Reset);
            }
        }
        Ok(())
    }

    pub(crate) fn finish(&self) -> Result<(), Reset> {
        let now = self.0.norm.clock.now();
        let there = self.0.norm.with(|mux| mux.finish(now, self.0.id));
        self.0.norm.wake.notify_one();
        if there { Ok(()) } else { Err(Reset) }
    }

    /// The request was refused: there is no connection, and nothing more to say about it.
    pub(crate) fn forget(&self) {
        self.0.norm.with(|mux| mux.forget(self.0.id));
    }

    pub(crate) fn reset(&self) {
        self.0.norm.with(|mux| mux.reset(self.0.id));
        self.0.norm.wake.notify_one();
    }

    pub(crate) async fn read(&self) -> Result<Read, Reset> {
        let inner = &self.0;
        loop {
            let news = inner.waiter.news.notified();
            if self.is_reset() {
                return Err(Reset);
            }
            let now = inner.norm.clock.now();
            match inner.norm.with(|mux| mux.read(now, inner.id)) {
                Ok(Some(bytes)) if bytes.is_empty() => return Ok(Read::End),
                Ok(Some(bytes)) => {
                    // It may have granted more.
                    inner.norm.wake.notify_one();
                    return Ok(Read::Bytes(bytes));
                }
                Ok(None) => news.await,
                Err(_) => return Err(Reset),
            }
        }
    }

    /// Waits until the end is on its way (true), or the connection is reset.
    pub(crate) async fn stopped(&self) -> bool {
        let inner = &self.0;
        loop {
            let news = inner.waiter.news.notified();
            if self.is_reset() {
                return false;
            }
            let (is_sent, is_there) =
                inner.norm.with(|mux| (mux.is_sent(inner.id), mux.has(inner.id)));
            if is_sent || !is_there {
                return true;
            }
            news.await;
        }
    }
}
