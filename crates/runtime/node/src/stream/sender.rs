//! The application's end of a stream that is sent.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use blake3::Hasher;
use fanfare_proto::{NewStream, RollCalls, Session, StreamFlush};
use fanfare_wire::STREAM_HEADER;

use super::{
    audience::Audience,
    framing::Framing,
    mailbox::{Mailbox, Note},
    options::SendOptions,
    receipt::Announcement,
    report::{SendReport, SendStatus, StreamEvent},
    rings::Rings,
    sending::{Sending, Setting},
};
use crate::{
    clock::Clock, driver::Setup, join_error::JoinError, network::Network, outbox::Outbox, segment,
    stopper::Stopper, waker::Waker,
};

/// Events that the channel holds; more of them wait behind it.
const EVENTS: usize = 64;
/// The roll is called so often while receivers are waited for.
const ROLL: Duration = Duration::from_millis(500);

/// Sends a stream. Dropping it ends the stream where it is; [`Self::finish`] waits until the receivers
/// that count have all of it.
#[derive(Debug)]
pub struct StreamSender {
    mailbox: Arc<Mailbox>,
    framing: Framing,
    lifetime: Option<Duration>,
    hasher: Option<Hasher>,
    events: Option<Receiver<StreamEvent>>,
    stopper: Stopper,
    thread: Option<JoinHandle<SendReport>>,
}

impl Network {
    /// Opens a stream, and starts its thread.
    ///
    /// # Errors
    /// What this machine refuses: interface, sockets, threads.
    pub fn send_stream(mut self, options: SendOptions) -> Result<StreamSender, JoinError> {
        // Each segment of a stream says where in it it belongs.
        self.beside += STREAM_HEADER as u16;
        self.check()?;
        // A receiver that holds its answer back until its application has read is not silent.
        self.sender.patience = self.sender.patience.max(options.wait);
        let endpoint = self.open_endpoint(false)?;
        self.choose_segment(&endpoint);
        let (_, _, seed) = self.choose();
        let mut config = self.session_config();
        config.receiver = None;
        let (clock, waker) = (Clock::start(), Waker::new()?);
        let now = clock.now();
        let mut session = Session::new(config, seed, now);
        if let Ok(address) = endpoint.local_addr() {
            session.set_address(address);
        }
        let audience = Audience::new(options.expect.clone());
        if audience.is_wanted() {
            let (awaited, again) = (audience.awaited(), 0);
            let calls = RollCalls { content: Vec::new(), interval: ROLL, awaited, again };
            session.sender().set_roll_call(Some(calls));
            session.sender().hold(true);
        }
        let mut rings = Rings::default();
        let stream = NewStream {
            buffer: options.buffer,
            info: Some(Announcement::new(options.framing, options.lifetime).encode()),
            policy: options.policy,
        };
        let opened = session.sender().open_stream(now, &stream, &mut rings);
        let key = opened.map_err(|error| JoinError::System(io::Error::other(error.to_string())))?;
        let mailbox = Arc::new(Mailbox::new(waker.clone()));
        let setting = Setting {
            key,
            buffer: options.buffer,
            policy: options.policy,
            flush: options.flush,
            lifetime: options.lifetime,
            wait: options.wait,
        };
        let (to_application, events) = sync_channel(EVENTS);
        let (_, commands) = sync_channel(1);
        let wiring = self.wiring(seed)?;
        let setup = Setup {
            clock,
            engine: Sending::new(session, rings, audience, mailbox.clone(), setting),
            message_size: usize::from(self.sender.segment_size)
                + STREAM_HEADER
                + segment::HEADER_MAX,
            endpoint,
            outbox: Outbox::new(to_application),
            commands,
            waker,
            wiring,
        };
        let (thread, stopper) = setup.start("fanfare-stream")?;
        Ok(StreamSender {
            mailbox,
            framing: options.framing,
            lifetime: options.lifetime,
            hasher: options.hash.then(Hasher::new),
            events: Some(events),
            stopper,
            thread: Some(thread),
        })
    }
}

impl StreamSender {
    /// Takes bytes as far as there is room now.
    ///
    /// # Errors
    /// When the stream has ended.
    pub fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.mailbox.write(bytes, false)?;
        self.hash(&bytes[..count]);
        Ok(count)
    }

    /// Takes bytes as far as there is room, or wakes the task when there is some.
    #[cfg(feature = "tokio")]
    pub(super) fn poll_bytes(
        &mut self,
        context: &std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        let taken = self.mailbox.poll_write(context, bytes);
        if let std::task::Poll::Ready(Ok(count)) = &taken {
            self.hash(&bytes[..*count]);
        }
        taken
    }

    fn hash(&mut self, bytes: &[u8]) {
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
    }

    /// Sends a message as the stream's framing says. It is not cut off: it waits for room as
    /// [`io::Write::write_all`] does.
    ///
    /// # Errors
    /// When the stream has no framing, the message is too long for it, or the stream has ended.
    pub fn write_message(&mut self, message: &[u8]) -> io::Result<()> {
        self.write_message_for(message, self.lifetime)
    }

    /// The same of a message that is of use only for so long: when it has not been sent by then, it is
    /// left out, whole; when it has been sent, it is not repaired any longer, as soon as nothing before
    /// it is of use either. A lossless stream repairs what it has sent all the same.
    ///
    /// # Errors
    /// As [`Self::write_message`].
    pub fn write_message_for(
        &mut self,
        message: &[u8],
        lifetime: Option<Duration>,
    ) -> io::Result<()> {
        let frame = self.framing.frame(message);
        let (head, tail) =
            frame.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let until = lifetime.map(|lifetime| Instant::now() + lifetime);
        if until.is_some() {
            // Nobody knows what of it will have been sent.
            self.hasher = None;
        }
        self.mailbox.write_message((&head, message, tail), until)?;
        [&head[..], message, tail].into_iter().for_each(|part| self.hash(part));
        Ok(())
    }

    /// The next byte begins a message, for receivers that look for one in a stream without framing.
    ///
    /// # Errors
    /// When the stream has ended.
    pub fn mark(&mut self) -> io::Result<()> {
        self.mailbox.say(Note::Message { bytes: 0, until: None })
    }

    /// Sends what was written, though it does not fill a symbol; with [`StreamFlush::Active`]
    /// receivers are told at once that nothing follows.
    ///
    /// # Errors
    /// When the stream has ended.
    pub fn flush_now(&mut self, how: StreamFlush) -> io::Result<()> {
        self.mailbox.say(Note::Flush(how))
    }

    /// Bytes that are taken without waiting.
    #[must_use]
    pub fn vacancy(&self) -> usize {
        self.mailbox.vacancy()
    }

    /// Bytes that all receivers that count are known to have.
    #[must_use]
    pub fn acked(&self) -> u64 {
        self.status().progress.released
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> SendStatus {
        self.mailbox.status()
    }

    /// Waits until something has changed, no longer than `most`.
    pub fn wait(&self, most: Duration) {
        self.mailbox.wait(most);
    }

    /// Whether nothing is taken any more: the stream was closed, or nobody listens.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.mailbox.is_ended()
    }

    /// What happens meanwhile; can be taken once.
    pub fn events(&mut self) -> Option<Receiver<StreamEvent>> {
        self.events.take()
    }

    /// Ends it from another thread, where it is.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Says that nothing follows. The rest is sent meanwhile.
    ///
    /// # Errors
    /// When the stream has ended already.
    pub fn close(&mut self) -> io::Result<()> {
        self.mailbox.say(Note::Close)
    }

    /// Closes the stream, waits until the receivers that count have all of it or are given up, and says
    /// what each came to.
    #[must_use]
    pub fn finish(mut self) -> SendReport {
        let _ = self.close();
        self.events = None;
        let hash = self.hasher.take().map(|hasher| *hasher.finalize().as_bytes());
        let report = self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        report.compared(hash)
    }
}

impl io::Write for StreamSender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.mailbox.write(bytes, true)?;
        self.hash(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flush_now(StreamFlush::Passive)
    }
}

impl Drop for StreamSender {
    fn drop(&mut self) {
        self.events = None;
        if let Some(thread) = self.thread.take() {
            self.stopper.stop();
            let _ = thread.join();
        }
    }
}
