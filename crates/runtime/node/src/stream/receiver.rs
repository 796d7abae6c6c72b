//! The application's end of a stream that is received.

use std::{
    fmt, io,
    sync::{
        Arc,
        mpsc::{Receiver, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use fanfare_proto::{JoinPolicy, ReceiverConfig, Session};

use super::{
    delivery::{Delivery, Item},
    framing::Framing,
    messages::Messages,
    options::{ReceiveOptions, Start},
    receipt,
    receiving::Receiving,
    report::{ReceiveReport, StreamEvent},
    rings::Rings,
};
use crate::{
    clock::Clock, driver::Setup, join_error::JoinError, network::Network, outbox::Outbox, segment,
    stopper::Stopper, waker::Waker,
};

/// Events that the channel holds; more of them wait behind it.
const EVENTS: usize = 64;

/// Bytes that are lost for good. Reading goes on behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamGap {
    /// Position of the first that is lost.
    pub from: u64,
    /// Position of the first that is not.
    pub to: u64,
}

impl fmt::Display for StreamGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to } = self;
        write!(f, "stream: bytes {from} to {to} are lost ({} bytes)", to - from)
    }
}

impl std::error::Error for StreamGap {}

/// A message of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Position of its frame in the stream.
    pub offset: u64,
    /// Something before it is lost, or was sent before this receiver came. In a stream that is received
    /// without order: something was lost since the last message.
    pub gap_before: bool,
    /// It comes before its turn: something before it has not come yet. Only in a stream that is received
    /// without order.
    pub early: bool,
}

/// Receives a stream: the first that it hears. Dropping it ends it.
#[derive(Debug)]
pub struct StreamReceiver {
    delivery: Arc<Delivery>,
    messages: Messages,
    /// What was taken and not read yet.
    bytes: Vec<u8>,
    at: usize,
    offset: u64,
    timeout: Option<Duration>,
    /// It was read to its end.
    ended: Option<u64>,
    events: Option<Receiver<StreamEvent>>,
    stopper: Stopper,
    thread: Option<JoinHandle<ReceiveReport>>,
}

impl Network {
    /// Listens for a stream, and starts the thread that receives it.
    ///
    /// # Errors
    /// What this machine refuses: interface, sockets, threads.
    pub fn receive_stream(mut self, options: ReceiveOptions) -> Result<StreamReceiver, JoinError> {
        self.check()?;
        let endpoint = self.open_endpoint(true)?;
        let (_, _, seed) = self.choose();
        let mut config = self.session_config();
        config.sender = None;
        let join = match options.start {
            Start::Earliest => JoinPolicy::ObjectStart,
            Start::Now => JoinPolicy::FromNow,
        };
        config.receiver = Some(ReceiverConfig { join, ..self.receiver.clone() });
        let (clock, waker) = (Clock::start(), Waker::new()?);
        let now = clock.now();
        let mut session = Session::new(config, seed, now);
        if let Ok(address) = endpoint.local_addr() {
            session.set_address(address);
        }
        session.receiver().set_status(receipt::name_status(&options.name), false);
        let delivery = Arc::new(Delivery::new(options.waiting, waker.clone()));
        let (to_application, events) = sync_channel(EVENTS);
        let (_, commands) = sync_channel(1);
        let wiring = self.wiring(seed)?;
        let setup = Setup {
            clock,
            engine: Receiving::new(session, Rings::default(), delivery.clone(), &options),
            message_size: usize::from(self.sender.segment_size) + segment::HEADER_MAX,
            endpoint,
            outbox: Outbox::new(to_application),
            commands,
            waker,
            wiring,
        };
        let (thread, stopper) = setup.start("fanfare-stream")?;
        Ok(StreamReceiver {
            delivery,
            messages: Messages::new(&options, self.receiver.stream_buffer),
            bytes: Vec::new(),
            at: 0,
            offset: 0,
            timeout: None,
            ended: None,
            events: Some(events),
            stopper,
            thread: Some(thread),
        })
    }
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, format!("stream: does not go on ({why})"))
}

impl StreamReceiver {
    /// Reading gives up after so long without anything; `None`: never.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    fn next(&mut self) -> io::Result<Item> {
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        match self.delivery.next(deadline) {
            Some(item) => Ok(item),
            None if self.delivery.is_ended() => Err(broken("it was stopped")),
            None => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "stream: nothing has come in time"))
            }
        }
    }

    /// The next bytes as they came, as many as there are at once. Empty: the stream has ended.
    ///
    /// # Errors
    /// A [`StreamGap`], after which reading goes on; the sender has gone before the end; nothing came
    /// in time.
    pub fn read_chunk(&mut self) -> io::Result<Vec<u8>> {
        if self.at < self.bytes.len() {
            let rest = self.bytes.split_off(self.at);
            (self.bytes, self.at) = (Vec::new(), 0);
            self.offset += rest.len() as u64;
            return Ok(rest);
        }
        if self.ended.is_some() {
            return Ok(Vec::new());
        }
        loop {
            let item = self.next()?;
            if let Some(bytes) = self.bytes_of(item)? {
                return Ok(bytes);
            }
        }
    }

    /// What an item has for who reads bytes; nothing is the end.
    fn bytes_of(&mut self, item: Item) -> io::Result<Option<Vec<u8>>> {
        match item {
            Item::Bytes { bytes, offset, .. } => {
                self.offset = offset + bytes.len() as u64;
                Ok(Some(bytes))
            }
            Item::Framing(_) | Item::Early { .. } => Ok(None),
            Item::Gap { from, to } => {
                self.offset = to;
                Err(io::Error::other(StreamGap { from, to }))
            }
            Item::End { length } => {
                self.ended = Some(length);
                Ok(Some(Vec::new()))
            }
            Item::Broken(why) => Err(broken(&why)),
        }
    }

    /// At most `most` bytes, or the task is woken when there are some. Nothing is the end.
    #[cfg(feature = "tokio")]
    pub(super) fn poll_bytes(
        &mut self,
        context: &std::task::Context<'_>,
        most: usize,
    ) -> std::task::Poll<io::Result<Vec<u8>>> {
        use std::task::{Poll, ready};
        while self.at == self.bytes.len() {
            if self.ended.is_some() {
                return Poll::Ready(Ok(Vec::new()));
            }
            let Some(item) = ready!(self.delivery.poll_next(context)) else {
                return Poll::Ready(Err(broken("it was stopped")));
            };
            match self.bytes_of(item) {
                Ok(Some(bytes)) => {
                    self.offset -= bytes.len() as u64;
                    (self.bytes, self.at) = (bytes, 0);
                }
                Ok(None) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let count = most.min(self.bytes.len() - self.at);
        let bytes = self.bytes[self.at..self.at + count].to_vec();
        self.at += count;
        self.offset += count as u64;
        Poll::Ready(Ok(bytes))
    }

    /// The next message, as the stream's framing tells them apart. Messages of which a part is lost are
    /// left out; the one behind them says so. Received without order, it is the first of which all is
    /// here. `None`: the stream has ended.
    ///
    /// # Errors
    /// The stream has no framing, or a length that cannot be; the sender has gone before the end;
    /// nothing came in time.
    pub fn read_message(&mut self) -> io::Result<Option<Message>> {
        loop {
            let found = self.messages.next();
            if let Some(message) =
                found.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?
            {
                return Ok(Some(message));
            }
            if self.ended.is_some() {
                return self.messages.end().map(|()| None);
            }
            match self.next()? {
                Item::End { length } => self.ended = Some(length),
                Item::Broken(why) => return Err(broken(&why)),
                item => self.messages.take(item),
            }
        }
    }

    /// Whether it is known how messages are told apart: from the options, or from the sender.
    #[must_use]
    pub fn has_framing(&self) -> bool {
        self.messages.framing() != Framing::Raw
    }

    /// Position of the next byte to be read; after a late start it does not begin at 0.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What happens meanwhile; can be taken once.
    pub fn events(&mut self) -> Option<Receiver<StreamEvent>> {
        self.events.take()
    }

    /// Ends it from another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// What was read is kept: tells the sender, if the stream was read to its end, and ends.
    pub fn finish(mut self) -> ReceiveReport {
        match self.ended {
            Some(_) => self.delivery.finish(),
            None => self.delivery.close(),
        }
        self.events = None;
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl io::Read for StreamReceiver {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.bytes.len() {
            let before = self.offset;
            self.bytes = self.read_chunk()?;
            self.at = 0;
            // The position is that of what was read.
            self.offset = self.offset.saturating_sub(self.bytes.len() as u64).max(before);
        }
        let count = into.len().min(self.bytes.len() - self.at);
        into[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        self.offset += count as u64;
        Ok(count)
    }
}

impl Drop for StreamReceiver {
    fn drop(&mut self) {
        self.events = None;
        if let Some(thread) = self.thread.take() {
            match self.ended {
                Some(_) => self.delivery.finish(),
                None => self.delivery.close(),
            }
            let _ = thread.join();
        }
    }
}
