//! Commands of the application that concern streams.

use super::{Entry, RemoteSenders, object::ReceiveObject};
use crate::{
    context::Context,
    event::AbortReason,
    storage::ObjectKey,
    stream::{StreamRead, StreamView},
};
use alloc::vec::Vec;

impl RemoteSenders {
    /// Reads of a stream, and tells the sender's watermark how far that has come.
    pub(crate) fn read_stream(
        &mut self,
        ctx: &mut Context<'_>,
        key: ObjectKey,
        most: usize,
        out: &mut Vec<u8>,
    ) -> StreamRead {
        let Some(sender) = self.senders.at_mut((key.sender, key.instance)) else {
            return StreamRead::Gone;
        };
        let Some(objects) = &mut sender.objects else { return StreamRead::Gone };
        let Some(object) = objects.find(key) else { return StreamRead::Gone };
        let Some(open) = objects.open_mut(object) else { return StreamRead::Gone };
        let start = out.len();
        let read = match open.read_stream(ctx, most, out) {
            Ok(read) => read,
            Err(error) => {
                out.truncate(start);
                objects.abort(ctx, object, AbortReason::Storage(error));
                return StreamRead::Gone;
            }
        };
        if read != StreamRead::Empty {
            let (local, now) = (&self.local, ctx.now);
            sender.watermark_progress(now, local);
        }
        read
    }

    /// Reads of a stream what is here behind what is missing.
    pub(crate) fn read_stream_early(
        &mut self,
        ctx: &mut Context<'_>,
        key: ObjectKey,
        most: usize,
        out: &mut Vec<u8>,
    ) -> StreamRead {
        let Some((_, sender, object)) = self.find(key) else { return StreamRead::Gone };
        let Some(objects) = &mut sender.objects else { return StreamRead::Gone };
        let Some(open) = objects.open_mut(object) else { return StreamRead::Gone };
        let start = out.len();
        open.read_early(ctx, most, out).unwrap_or_else(|error| {
            out.truncate(start);
            objects.abort(ctx, object, AbortReason::Storage(error));
            StreamRead::Gone
        })
    }

    /// The stream was read to its end, and that was noticed: it is done with.
    pub(crate) fn finish_stream(&mut self, ctx: &mut Context<'_>, key: ObjectKey) {
        if let Some((local, sender, object)) = self.find(key) {
            if let Some(objects) = &mut sender.objects {
                objects.complete(ctx, object);
            }
            sender.watermark_progress(ctx.now, local);
        }
    }

    /// What is missing before the next symbol that is here counts as lost.
    pub(crate) fn skip_stream_gap(&mut self, key: ObjectKey) -> bool {
        let Some((_, sender, object)) = self.find(key) else { return false };
        let open = sender.objects.as_mut().and_then(|objects| objects.open_mut(object));
        open.is_some_and(ReceiveObject::skip_gap)
    }

    /// Where the reading of a stream stands.
    pub(crate) fn stream_view(&self, key: ObjectKey) -> Option<StreamView> {
        match self.entry(key)? {
            Entry::Open(open) => {
                let (offset, slots, ahead) = open.stream_state()?;
                let block_len = open.format().fti.max_block_len;
                Some(StreamView { key, offset, slots, ahead, block_len })
            }
            _ => None,
        }
    }
}
