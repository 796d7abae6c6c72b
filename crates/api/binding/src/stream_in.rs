//! The end of a stream at which bytes come out.

use std::{
    io::Read as _,
    sync::{Mutex, MutexGuard, PoisonError, mpsc::Receiver},
    time::Duration,
};

use fanfare::{
    groups::Stopper,
    stream::{Message, StreamEvent, StreamReceiver},
};

use crate::{
    error::Error,
    event::Event,
    options::{Options, Purpose},
    report::Report,
    stream_out::next_event,
    wait::Wait,
};

/// Receives a stream, by a thread of its own: the first that it hears. Dropping it ends it.
#[derive(Debug)]
pub struct StreamIn {
    receiver: Mutex<Option<StreamReceiver>>,
    events: Mutex<Option<Receiver<StreamEvent>>>,
    stopper: Stopper,
}

fn ended() -> Error {
    Error::ended("stream")
}

impl StreamIn {
    /// Listens for a stream.
    ///
    /// # Errors
    /// An option that cannot be; what this machine refuses.
    pub fn open(group: &str, options: &Options) -> Result<Self, Error> {
        let network = options.network(group, Purpose::ReceiveStream)?;
        let mut receiver = network.receive_stream(options.receive_stream())?;
        let events = Mutex::new(receiver.events());
        Ok(Self { stopper: receiver.stopper(), receiver: Mutex::new(Some(receiver)), events })
    }

    fn lock(&self) -> MutexGuard<'_, Option<StreamReceiver>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        wait: Wait,
        run: impl FnOnce(&mut StreamReceiver) -> std::io::Result<T>,
    ) -> Result<T, Error> {
        let mut receiver = self.lock();
        let receiver = receiver.as_mut().ok_or_else(ended)?;
        receiver.set_timeout(match wait {
            Wait::Forever => None,
            Wait::AtMost(time) => Some(time),
        });
        Ok(run(receiver)?)
    }

    /// Reads bytes, as many as there are at once. 0: the stream has ended.
    ///
    /// # Errors
    /// Bytes are lost; nothing came in time; the stream does not go on.
    pub fn read(&self, into: &mut [u8], wait: Wait) -> Result<usize, Error> {
        self.with(wait, |receiver| receiver.read(into))
    }

    /// The same, at most `most` of them in a buffer of its own. Empty: the stream has ended.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_some(&self, most: usize, wait: Wait) -> Result<Vec<u8>, Error> {
        // A program may ask for everything that there is.
        let mut bytes = vec![0; most.clamp(1, 1 << 20)];
        let count = self.read(&mut bytes, wait)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    /// The next message. `None`: the stream has ended.
    ///
    /// # Errors
    /// The stream has no framing; nothing came in time; the stream does not go on.
    pub fn read_message(&self, wait: Wait) -> Result<Option<Message>, Error> {
        self.with(wait, StreamReceiver::read_message)
    }

    /// Position of the next byte.
    ///
    /// # Errors
    /// It was finished.
    pub fn offset(&self) -> Result<u64, Error> {
        self.with(Wait::AtMost(Duration::ZERO), |receiver| Ok(receiver.offset()))
    }

    /// What has happened next.
    ///
    /// # Errors
    /// Nothing has in time; it has ended and everything was told.
    pub fn next_event(&self, wait: Wait) -> Result<Event, Error> {
        next_event(&self.events, wait)
    }

    /// What was read is kept: tells the sender, if the stream was read to its end, and ends.
    ///
    /// # Errors
    /// It was asked already.
    pub fn finish(&self) -> Result<Report, Error> {
        let receiver = self.lock().take().ok_or_else(ended)?;
        Ok(Report::of_stream_in(&receiver.finish()))
    }

    /// Ends it where it is, from any thread.
    pub fn stop(&self) {
        self.stopper.stop();
    }
}
