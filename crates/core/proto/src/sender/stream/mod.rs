//! Streams to send: what the application writes becomes symbols of an object that does not end.
//!
//! - [`packer`]: bytes, marks and flushes become symbols
//! - [`window`]: what may be written, and what gives way

mod packer;
pub(in crate::sender) mod window;

use crate::{
    enqueue::EnqueueError,
    event::{Event, EventQueue, WatermarkOutcome},
    partition::Partition,
    sender::{Sender, ack::Point, cache::Found, object::TransmitObject},
    storage::{ObjectKey, Storage},
    stream::{NewStream, StreamFlush, StreamProgress},
    time::Time,
};
use alloc::boxed::Box;
use fanfare_wire::{NodeId, ObjectTransportId, STREAM_HEADER};
use window::SendStream;

impl Sender {
    /// Takes a stream into the cache, making room if an older object may go.
    pub fn open_stream(
        &mut self,
        now: Time,
        stream: &NewStream,
        storage: &mut dyn Storage,
        events: &mut EventQueue,
    ) -> Result<ObjectKey, EnqueueError> {
        self.now = self.now.max(now);
        self.check_info(stream.info.as_ref())?;
        self.make_room(events)?;
        let key = self.key(self.cache.next_id());
        let (segment, block_len) = (self.coding.segment_size, self.coding.source);
        let format = (segment, block_len, self.coding.block_limit());
        let opened = SendStream::open(storage, key, stream, format);
        let state = opened.map_err(|_| EnqueueError::NoRing { buffer: stream.buffer })?;
        let slot = segment.saturating_add(STREAM_HEADER as u16);
        let partition = Partition::stream(slot, block_len);
        let object =
            TransmitObject::stream(self.now, key, partition, stream.info.clone(), Box::new(state));
        self.slow.on_enqueued();
        self.streams.push(self.cache.next_ordinal());
        self.cache.push(object);
        Ok(key)
    }

    fn stream_mut(&mut self, id: ObjectTransportId) -> Option<(u64, &mut TransmitObject)> {
        let Found::Cached(ordinal) = self.cache.find(id) else { return None };
        let object = self.cache.get_mut(ordinal)?;
        object.stream.is_some().then_some((ordinal, object))
    }

    /// Takes bytes as far as there is room; returns how many. What does not find room is told as
    /// [`Event::StreamWritable`] when there is some.
    pub fn write_stream(
        &mut self,
        now: Time,
        id: ObjectTransportId,
        bytes: &[u8],
        storage: &mut dyn Storage,
    ) -> usize {
        self.now = self.now.max(now);
        let (now, quiet) = (self.now, self.quiet());
        let Some((ordinal, object)) = self.stream_mut(id) else { return 0 };
        let mut taken = 0;
        while taken < bytes.len() && object.make_place(now, quiet) {
            let Some(stream) = &mut object.stream else { break };
            stream.hurried = false;
            match stream.take(storage, &bytes[taken..]) {
                Ok(count) => taken += count,
                Err(_) => break,
            }
        }
        if let Some(stream) = &mut object.stream {
            stream.refused = taken < bytes.len() && !stream.ended;
        }
        self.cache.refresh(ordinal);
        taken
    }

    /// The next byte begins a message.
    pub fn mark_stream(&mut self, id: ObjectTransportId) {
        if let Some((_, TransmitObject { stream: Some(stream), .. })) = self.stream_mut(id) {
            stream.packer.mark();
        }
    }

    /// What was written goes now, also where it does not fill a symbol.
    pub fn flush_stream(
        &mut self,
        now: Time,
        id: ObjectTransportId,
        how: StreamFlush,
        storage: &mut dyn Storage,
    ) {
        self.now = self.now.max(now);
        let Some((ordinal, object)) = self.stream_mut(id) else { return };
        let Some(stream) = object.stream.as_mut().filter(|stream| !stream.ended) else { return };
        // What the store cannot take now stays with the packer, and goes with the next flush.
        let _ = stream.flush(storage, how);
        let quiet = !object.has_new() && object.has_begun();
        self.cache.refresh(ordinal);
        if quiet && how == StreamFlush::Active {
            self.flush.on_sent(self.now);
        }
    }

    /// Ends the stream: what was written goes, and then its end. False where there is no room for
    /// the end yet, which is told as [`Event::StreamWritable`].
    pub fn close_stream(
        &mut self,
        now: Time,
        id: ObjectTransportId,
        storage: &mut dyn Storage,
    ) -> bool {
        self.flush_stream(now, id, StreamFlush::Active, storage);
        let (now, quiet) = (self.now, self.quiet());
        let Some((ordinal, object)) = self.stream_mut(id) else { return true };
        let place = object.make_place(now, quiet);
        let Some(stream) = object.stream.as_mut() else { return true };
        if stream.ended {
            return true;
        }
        stream.refused = !place;
        let ended = place && stream.end(storage).is_ok();
        self.cache.refresh(ordinal);
        ended
    }

    /// All receivers that count have all that was packed when a watermark was set there.
    pub fn release_stream(&mut self, id: ObjectTransportId, until: u64) {
        if let Some((_, TransmitObject { stream: Some(stream), .. })) = self.stream_mut(id) {
            stream.release(until);
        }
    }

    /// Nothing but the last `keep` bytes of what was packed is of use any more.
    pub fn expire_stream(&mut self, id: ObjectTransportId, keep: u64) {
        if let Some((ordinal, object)) = self.stream_mut(id) {
            object.expire(keep.div_ceil(u64::from(object.told_segment())));
            self.cache.refresh(ordinal);
        }
    }

    /// How far a stream has come.
    pub fn stream_progress(&self, id: ObjectTransportId) -> Option<StreamProgress> {
        let Found::Cached(ordinal) = self.cache.find(id) else { return None };
        let object = self.cache.get(ordinal)?;
        let stream = object.stream.as_ref()?;
        Some(StreamProgress {
            written: stream.packer.written(),
            packed: stream.packer.packed(),
            released: stream.released(),
            sent: !object.has_new(),
            closed: stream.ended,
        })
    }

    /// Bytes that a stream would take now.
    pub fn stream_vacancy(&self, id: ObjectTransportId) -> Option<u64> {
        let Found::Cached(ordinal) = self.cache.find(id) else { return None };
        let object = self.cache.get(ordinal)?;
        let stream = object.stream.as_ref()?;
        let under_way = stream.packer.written() - stream.packer.packed();
        let all = stream.vacancy() * u64::from(object.told_segment());
        Some(all.saturating_sub(under_way))
    }

    /// Where a watermark at the end of what was packed stands. `None` before there is anything.
    pub(in crate::sender) fn stream_point(&mut self, ordinal: u64) -> Option<Point> {
        let object = self.cache.get_mut(ordinal)?;
        let (id, until) = object.packed_end()?;
        if let Some(stream) = &mut object.stream {
            stream.mark();
        }
        let object = object.key.object;
        // As it travels, and as receivers send it back.
        let id = self.coding.pack(id).unpack(self.coding.field);
        Some(Point { ordinal, object, id, until })
    }

    /// A watermark has ended: what all have acknowledged may give way.
    pub(in crate::sender) fn on_watermark_done(&mut self, outcomes: &[(NodeId, WatermarkOutcome)]) {
        let all = outcomes.iter().all(|(_, outcome)| *outcome == WatermarkOutcome::Acknowledged);
        if let Some(point) = self.watermark.last_point().filter(|_| all && !outcomes.is_empty()) {
            self.release_stream(point.object, point.until);
        }
    }

    /// Of these, something is requested that is gone: of a stream that is still here, too soon.
    pub(in crate::sender) fn on_late_requests(&mut self, gone: &[ObjectTransportId]) {
        let (now, quiet) = (self.now, self.quiet());
        for id in gone {
            if let Some((_, TransmitObject { stream: Some(stream), .. })) = self.stream_mut(*id) {
                stream.on_late_request(now, quiet);
            }
        }
    }

    /// When a stream that took less than was offered may be written to again.
    pub(in crate::sender) fn streams_writable_at(&self) -> Option<Time> {
        let quiet = self.quiet();
        let objects = self.streams.iter().filter_map(|ordinal| self.cache.get(*ordinal));
        objects.filter_map(|object| object.writable_at(quiet)).min()
    }

    /// Tells of room in streams.
    pub(in crate::sender) fn poll_streams(&mut self, events: &mut EventQueue) {
        if self.streams.is_empty() {
            return;
        }
        let (now, quiet) = (self.now, self.quiet());
        let cache = &mut self.cache;
        self.streams.retain(|ordinal| {
            let Some(object) = cache.get_mut(*ordinal) else { return false };
            if object.writable_at(quiet).is_some_and(|at| at <= now)
                && object.make_place(now, quiet)
                && let Some(stream) = &mut object.stream
            {
                stream.refused = false;
                events.push(Event::StreamWritable { key: object.key });
            }
            true
        });
    }
}
