//! Streams that a program writes.

use fanfare_proto::{NewStream, ObjectTransportId, StreamFlush, Time};

use crate::{
    handle::Handle,
    instance::desk::Desk,
    kinds::{Flush, ObjectType},
};

use super::{Half, Session, object::Object};

impl Session {
    /// Opens a stream with so many bytes that can be repaired. Null when that is not possible.
    pub(crate) fn open_stream(
        &mut self,
        now: Time,
        desk: &mut Desk,
        buffer: u32,
        info: Option<Vec<u8>>,
    ) -> Handle {
        if buffer == 0 {
            return Handle::NULL;
        }
        let has_info = info.is_some();
        let stream =
            NewStream { buffer: u64::from(buffer), info: info.clone(), ..NewStream::default() };
        let Half { proto, store, .. } = &mut self.sending;
        let Ok(key) = proto.sender().open_stream(now, &stream, store) else {
            return Handle::NULL;
        };
        let size = self.promised(buffer);
        let mut object = Object::new(self.handle, key, ObjectType::Stream, size);
        (object.info, object.has_info) = (info, has_info);
        object.outgoing = Some(Box::default());
        let handle = self.sending.enter(desk, object);
        if !handle.is_null() {
            // There is nothing to be sent of it yet, and that is told.
            self.tx.armed = handle;
        }
        handle
    }

    /// Bytes of whole blocks, of which there are two at least.
    fn promised(&self, buffer: u32) -> u64 {
        let block = u64::from(self.block.0) * u64::from(self.block.1);
        (u64::from(buffer) / block.max(1)).max(2) * block
    }

    /// Takes bytes as far as there is room.
    pub(crate) fn write_stream(
        &mut self,
        now: Time,
        (handle, object): (Handle, &mut Object),
        bytes: &[u8],
    ) -> usize {
        let Some(out) = object.outgoing.as_mut().filter(|out| !out.closing && !out.closed) else {
            return 0;
        };
        let Half { proto, store, .. } = &mut self.sending;
        let taken = proto.sender().write_stream(now, object.key.object, bytes, store);
        out.short = taken < bytes.len();
        let flush = out.auto_flush;
        // Of a refused write VACANCY tells; EMPTY would have it tried again at once, and in vain.
        if taken > 0 {
            self.tx.armed = handle;
        }
        if flush != Flush::None && !bytes.is_empty() {
            self.flush(now, (handle, object.key.object), flush);
        }
        taken
    }

    fn flush(&mut self, now: Time, (handle, id): (Handle, ObjectTransportId), how: Flush) {
        let how = match how {
            Flush::None => return,
            Flush::Passive => StreamFlush::Passive,
            Flush::Active => {
                self.tx.flushing = handle;
                StreamFlush::Active
            }
        };
        let Half { proto, store, .. } = &mut self.sending;
        proto.sender().flush_stream(now, id, how, store);
    }

    /// Ends a message, sends what was written, or both.
    pub(crate) fn flush_stream(
        &mut self,
        now: Time,
        (handle, object): (Handle, &Object),
        (end_of_message, how): (bool, Flush),
    ) {
        let Some(out) = object.outgoing.as_ref().filter(|out| !out.closing && !out.closed) else {
            return;
        };
        if end_of_message && !out.short {
            self.sending.proto.sender().mark_stream(object.key.object);
        }
        if how != Flush::None && !out.short {
            self.tx.armed = handle;
        }
        self.flush(now, (handle, object.key.object), how);
    }

    /// The next byte begins a message.
    pub(crate) fn mark_stream(&mut self, object: &Object) {
        if object.outgoing.as_ref().is_some_and(|out| !out.short) {
            self.sending.proto.sender().mark_stream(object.key.object);
        }
    }

    /// Ends a stream with all that was written, or at once.
    pub(crate) fn close_stream(
        &mut self,
        now: Time,
        desk: &mut Desk,
        handle: Handle,
        graceful: bool,
    ) {
        let Some(object) = desk.objects.get_mut(handle) else { return };
        let (key, Some(out)) = (object.key, object.outgoing.as_mut()) else { return };
        if !graceful {
            self.sending.proto.sender().cancel(key.object);
            return;
        }
        if out.closed {
            return;
        }
        let Half { proto, store, .. } = &mut self.sending;
        out.closed = proto.sender().close_stream(now, key.object, store);
        out.closing = !out.closed;
        self.tx.flushing = handle;
        self.tx.closing.push(handle);
    }

    /// Streams that are to end: whether there is room for the end now, and whether all of it was sent and
    /// flushed.
    pub(super) fn end_streams(&mut self, now: Time, desk: &mut Desk) {
        let closing = std::mem::take(&mut self.tx.closing);
        for handle in closing {
            let Some(object) = desk.objects.get_mut(handle).filter(|object| object.live) else {
                continue;
            };
            let id = object.key.object;
            let Some(out) = object.outgoing.as_mut() else { continue };
            let Half { proto, store, .. } = &mut self.sending;
            if out.closing && proto.sender().close_stream(now, id, store) {
                (out.closing, out.closed) = (false, true);
            }
            let sent = proto.sender().stream_progress(id).is_none_or(|progress| progress.sent);
            let watched = self.acking.is_pending_at(handle) || self.acking.has_failed_at(handle);
            // It is told as flushed, once that is, and leaves then.
            let flushed = self.tx.flushing != handle;
            if out.is_closed() && sent && flushed && !watched {
                self.sending.proto.sender().release(id);
            } else {
                self.tx.closing.push(handle);
            }
        }
    }

    /// How each write into it is flushed.
    pub(crate) fn set_auto_flush(object: &mut Object, how: Flush) {
        if let Some(out) = &mut object.outgoing {
            out.auto_flush = how;
        }
    }

    /// Bytes that would be taken now.
    pub(crate) fn vacancy(&mut self, object: &Object) -> u64 {
        let open = object.outgoing.as_ref().is_some_and(|out| !out.closing && !out.closed);
        let vacancy = self.sending.proto.sender().stream_vacancy(object.key.object);
        vacancy.filter(|_| open).unwrap_or(0)
    }
}
