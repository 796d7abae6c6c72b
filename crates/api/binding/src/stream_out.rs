//! The end of a stream at which bytes go in.

use std::{
    io::Write as _,
    sync::{
        Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use fanfare::{
    groups::Stopper,
    stream::{StreamEvent, StreamFlush, StreamSender},
};

use crate::{
    error::Error,
    event::Event,
    files::left_of,
    options::{Options, Purpose},
    report::Report,
    wait::Wait,
};

/// How it stands with a stream.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Status {
    /// Bytes written.
    pub written: u64,
    /// Bytes that all receivers that count are known to have.
    pub acknowledged: u64,
    /// Receivers that count.
    pub receivers: u64,
    /// Since when it has been waiting for receivers to read, in seconds; 0 when it is not.
    pub stalled: f64,
    /// What is sent at present, in bits a second.
    pub rate: u64,
    /// Bytes that are taken without waiting.
    pub vacancy: u64,
    /// Nothing is taken any more.
    pub ended: bool,
}

/// Sends a stream, by a thread of its own. Dropping it ends the stream where it is.
#[derive(Debug)]
pub struct StreamOut {
    sender: Mutex<Option<StreamSender>>,
    events: Mutex<Option<Receiver<StreamEvent>>>,
    stopper: Stopper,
}

fn ended() -> Error {
    Error::ended("stream")
}

/// The next event of a stream.
pub(crate) fn next_event(
    events: &Mutex<Option<Receiver<StreamEvent>>>,
    wait: Wait,
) -> Result<Event, Error> {
    let events = events.lock().unwrap_or_else(PoisonError::into_inner);
    let events = events.as_ref().ok_or_else(ended)?;
    let deadline = wait.deadline();
    let found = wait.run(|time| {
        let mut left = time;
        loop {
            match events.recv_timeout(left) {
                Ok(event) => match Event::of_stream(event) {
                    Some(event) => return Some(Ok(event)),
                    None => left = left_of(deadline, time),
                },
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => return Some(Err(ended())),
            }
        }
    });
    found.unwrap_or_else(|| Err(Error::timeout()))
}

impl StreamOut {
    /// Opens a stream.
    ///
    /// # Errors
    /// An option that cannot be; what this machine refuses.
    pub fn open(group: &str, options: &Options) -> Result<Self, Error> {
        let network = options.network(group, Purpose::SendStream)?;
        let mut sender = network.send_stream(options.send_stream()?)?;
        let events = Mutex::new(sender.events());
        Ok(Self { stopper: sender.stopper(), sender: Mutex::new(Some(sender)), events })
    }

    fn lock(&self) -> MutexGuard<'_, Option<StreamSender>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        run: impl FnOnce(&mut StreamSender) -> std::io::Result<T>,
    ) -> Result<T, Error> {
        Ok(run(self.lock().as_mut().ok_or_else(ended)?)?)
    }

    /// Writes all of it; waits for room.
    ///
    /// # Errors
    /// The stream has ended.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        self.with(|sender| sender.write_all(bytes))
    }

    /// Writes as much as there is room for, and says how much that was.
    ///
    /// # Errors
    /// The stream has ended.
    pub fn try_write(&self, bytes: &[u8]) -> Result<usize, Error> {
        self.with(|sender| sender.try_write(bytes))
    }

    /// Writes a message, of use for `lifetime` where that is given; waits for room.
    ///
    /// # Errors
    /// The stream has no framing, or has ended; the message is too long.
    pub fn write_message(&self, bytes: &[u8], lifetime: Option<Duration>) -> Result<(), Error> {
        self.with(|sender| match lifetime {
            Some(_) => sender.write_message_for(bytes, lifetime),
            None => sender.write_message(bytes),
        })
    }

    /// Says that the next byte begins a message.
    ///
    /// # Errors
    /// The stream has ended.
    pub fn mark(&self) -> Result<(), Error> {
        self.with(StreamSender::mark)
    }

    /// Sends what was written, though it does not fill a packet. `active`: receivers are told at once that
    /// nothing follows, and ask for what they lack.
    ///
    /// # Errors
    /// The stream has ended.
    pub fn flush(&self, active: bool) -> Result<(), Error> {
        let how = if active { StreamFlush::Active } else { StreamFlush::Passive };
        self.with(|sender| sender.flush_now(how))
    }

    /// How it stands.
    ///
    /// # Errors
    /// It was finished.
    pub fn status(&self) -> Result<Status, Error> {
        self.with(|sender| {
            let status = sender.status();
            Ok(Status {
                written: status.progress.written,
                acknowledged: status.progress.released,
                receivers: status.receivers as u64,
                stalled: status.stalled.map_or(0.0, |time| time.as_secs_f64()),
                rate: status.rate.as_bps(),
                vacancy: sender.vacancy() as u64,
                ended: sender.is_ended(),
            })
        })
    }

    /// Waits until something has changed, no longer than `most`.
    ///
    /// # Errors
    /// It was finished.
    pub fn wait(&self, most: Duration) -> Result<(), Error> {
        self.with(|sender| {
            sender.wait(most);
            Ok(())
        })
    }

    /// What has happened next.
    ///
    /// # Errors
    /// Nothing has in time; it has ended and everything was told.
    pub fn next_event(&self, wait: Wait) -> Result<Event, Error> {
        next_event(&self.events, wait)
    }

    /// Says that nothing follows. The rest is sent meanwhile.
    ///
    /// # Errors
    /// The stream has ended.
    pub fn close(&self) -> Result<(), Error> {
        self.with(StreamSender::close)
    }

    /// Closes the stream, waits until the receivers that count have all of it or are given up, and says
    /// what each came to.
    ///
    /// # Errors
    /// It was asked already.
    pub fn finish(&self) -> Result<Report, Error> {
        let sender = self.lock().take().ok_or_else(ended)?;
        Ok(Report::of_stream_out(sender.finish()))
    }

    /// Ends it where it is, from any thread.
    pub fn stop(&self) {
        self.stopper.stop();
    }
}
