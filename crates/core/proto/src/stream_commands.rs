//! Commands of the application that concern streams.

use crate::{
    context::context,
    enqueue::EnqueueError,
    handle::{ReceiverHandle, SenderHandle},
    storage::{ObjectKey, Storage},
    stream::{NewStream, StreamFlush, StreamProgress, StreamRead, StreamView},
    time::Time,
};
use alloc::vec::Vec;
use fanfare_wire::ObjectTransportId;

impl SenderHandle<'_> {
    /// Opens a stream. The storage keeps a ring for it until [`crate::Event::ObjectPurged`]. A session
    /// should have one stream and nothing else: NRL's senders cannot have more.
    pub fn open_stream(
        &mut self,
        now: Time,
        stream: &NewStream,
        storage: &mut dyn Storage,
    ) -> Result<ObjectKey, EnqueueError> {
        self.session.advance(now);
        let (now, session) = (self.session.now, &mut *self.session);
        let sender = session.sender.as_mut().ok_or(EnqueueError::NotASender)?;
        sender.open_stream(now, stream, storage, &mut session.events)
    }

    /// Takes bytes for a stream, as far as there is room; returns how many. When it takes less than
    /// all, [`crate::Event::StreamWritable`] tells when there is room again.
    pub fn write_stream(
        &mut self,
        now: Time,
        stream: ObjectTransportId,
        bytes: &[u8],
        storage: &mut dyn Storage,
    ) -> usize {
        self.session.advance(now);
        self.with(|s, now| s.write_stream(now, stream, bytes, storage)).unwrap_or(0)
    }

    /// The next byte written begins a message, for receivers that look for one. So does the first
    /// byte of a stream.
    pub fn mark_stream(&mut self, stream: ObjectTransportId) {
        self.with(|s, _| s.mark_stream(stream));
    }

    /// Sends what was written, though it does not fill a symbol. A flush takes the place of a whole
    /// symbol in the stream's buffer.
    pub fn flush_stream(
        &mut self,
        now: Time,
        stream: ObjectTransportId,
        how: StreamFlush,
        storage: &mut dyn Storage,
    ) {
        self.session.advance(now);
        self.with(|s, now| s.flush_stream(now, stream, how, storage));
    }

    /// Ends a stream, with what was written and a symbol that says so. False where there is no room for
    /// the end yet: try again after [`crate::Event::StreamWritable`].
    pub fn close_stream(
        &mut self,
        now: Time,
        stream: ObjectTransportId,
        storage: &mut dyn Storage,
    ) -> bool {
        self.session.advance(now);
        self.with(|s, now| s.close_stream(now, stream, storage)).unwrap_or(true)
    }

    /// How far a stream has come. `None` when it is gone.
    #[must_use]
    pub fn stream_progress(&self, stream: ObjectTransportId) -> Option<StreamProgress> {
        self.session.sender.as_ref()?.stream_progress(stream)
    }

    /// Bytes that a stream takes now, if they are not flushed on the way; more where older bytes
    /// may give way.
    #[must_use]
    pub fn stream_vacancy(&self, stream: ObjectTransportId) -> Option<u64> {
        self.session.sender.as_ref()?.stream_vacancy(stream)
    }

    /// Everything up to the last watermark may give way, though not all have acknowledged it: those
    /// who have not do not count any more.
    pub fn release_stream(&mut self, stream: ObjectTransportId) {
        self.with(|s, _| s.release_stream(stream, u64::MAX));
    }

    /// Of a stream nothing that was packed so far is of use to anybody any more, but for the last
    /// `keep` bytes: whole blocks of the rest are neither sent nor repaired.
    pub fn expire_stream(&mut self, stream: ObjectTransportId, keep: u64) {
        self.with(|s, _| s.expire_stream(stream, keep));
    }
}

impl ReceiverHandle<'_> {
    /// Appends bytes of a stream to `out`, in order, until there are `most` of them or up to a symbol
    /// more. A watermark in the stream is acknowledged when it was read past it; one at its end, after
    /// [`StreamRead::End`], when [`Self::finish_stream`] says so.
    pub fn read_stream(
        &mut self,
        now: Time,
        stream: ObjectKey,
        most: usize,
        storage: &mut dyn Storage,
        out: &mut Vec<u8>,
    ) -> StreamRead {
        self.session.advance(now);
        let session = &mut *self.session;
        let mut ctx = context!(session, storage);
        let Some(receiver) = &mut session.receiver else { return StreamRead::Gone };
        receiver.read_stream(&mut ctx, stream, most, out)
    }

    /// Appends to `out` bytes of a stream that are here behind what is missing, each of them once and
    /// in any order: for messages that need not wait for each other. [`Self::read_stream`] gives the
    /// same bytes again, in order, when what is missing has come or is lost, and only that is
    /// acknowledged. [`StreamRead::Empty`]: there are none.
    pub fn read_stream_early(
        &mut self,
        now: Time,
        stream: ObjectKey,
        most: usize,
        storage: &mut dyn Storage,
        out: &mut Vec<u8>,
    ) -> StreamRead {
        self.session.advance(now);
        let session = &mut *self.session;
        let mut ctx = context!(session, storage);
        let Some(receiver) = &mut session.receiver else { return StreamRead::Gone };
        receiver.read_stream_early(&mut ctx, stream, most, out)
    }

    /// A stream was read to its end, and is done with: it is complete, and that is acknowledged.
    pub fn finish_stream(&mut self, now: Time, stream: ObjectKey, storage: &mut dyn Storage) {
        self.session.advance(now);
        let session = &mut *self.session;
        let mut ctx = context!(session, storage);
        if let Some(receiver) = &mut session.receiver {
            receiver.finish_stream(&mut ctx, stream);
        }
    }

    /// Waits no longer for what is missing of a stream before the next symbol that is here: it counts as
    /// lost. False when nothing is missing, or nothing is here behind it.
    pub fn skip_stream_gap(&mut self, stream: ObjectKey) -> bool {
        let receiver = self.session.receiver.as_mut();
        receiver.is_some_and(|receiver| receiver.skip_stream_gap(stream))
    }

    /// Where the reading of a stream stands. `None` when it is not being received.
    #[must_use]
    pub fn stream_view(&self, stream: ObjectKey) -> Option<StreamView> {
        self.session.receiver.as_ref().and_then(|r| r.stream_view(stream))
    }
}
