//! Takes over bytes that the driver has already, and rejects bytes that it found wrong.

use super::{Entry, Objects};
use crate::{
    context::Context,
    receiver::{decode::Decoder, object::ReceiveObject, position::ObjectIndex},
};
use alloc::boxed::Box;

impl Objects {
    /// The driver holds the object for good.
    pub(crate) fn confirm(&mut self, object: ObjectIndex) {
        if let Some(Entry::Complete { confirmed, .. }) = self.entries.get_mut(&object) {
            *confirmed = true;
        }
    }

    /// Another object has come in the place of one that was given up, or is whole.
    pub(crate) fn excuse(&mut self, object: ObjectIndex) {
        match self.entries.get_mut(&object) {
            Some(Entry::Complete { confirmed, .. }) => *confirmed = true,
            Some(entry @ Entry::GivenUp) => *entry = Entry::Skipped,
            _ => {}
        }
    }

    /// The driver holds these bytes of `object` already. False when it is not under way.
    pub(crate) fn have(
        &mut self,
        ctx: &mut Context<'_>,
        decoder: &mut Decoder,
        object: ObjectIndex,
        bytes: (u64, u64),
    ) -> bool {
        let open = match self.entries.get_mut(&object) {
            Some(Entry::Open(open)) => open,
            other => return matches!(other, Some(Entry::Complete { .. })),
        };
        let before = open.buffered();
        let room = (self.buffer_max + before).saturating_sub(self.buffered);
        let result = open.have(ctx, decoder, bytes, room);
        self.buffered = self.buffered - before + open.buffered();
        match result {
            Ok(()) => self.complete(ctx, object),
            Err(error) => self.fail(ctx, object, error),
        }
        result.is_ok()
    }

    /// These bytes of `object` are wrong, even if it was complete. False when it is not in view.
    pub(crate) fn reject(&mut self, object: ObjectIndex, bytes: (u64, u64)) -> bool {
        let key = self.key(object);
        let Some(entry) = self.entries.get_mut(&object) else { return false };
        if let Entry::Complete { format, .. } = entry {
            if format.partition.symbols_touching(bytes.0, bytes.1).is_empty() {
                return true;
            }
            *entry = Entry::Open(Box::new(ReceiveObject::reopen(key, *format)));
        }
        let Entry::Open(open) = entry else { return false };
        let before = open.buffered();
        let room = (self.buffer_max + before).saturating_sub(self.buffered);
        open.lose(bytes, room);
        self.buffered = self.buffered - before + open.buffered();
        self.low = self.low.min(object);
        true
    }

    /// The INFO of `object` is wrong. False when the object is not in view.
    pub(crate) fn reject_info(&mut self, object: ObjectIndex) -> bool {
        let key = self.key(object);
        let Some(entry) = self.entries.get_mut(&object) else { return false };
        if let Entry::Complete { format, .. } = entry {
            *entry = Entry::Open(Box::new(ReceiveObject::reopen(key, *format)));
        }
        let Entry::Open(open) = entry else { return false };
        open.lose_info();
        self.low = self.low.min(object);
        true
    }

    /// The driver begins, or ends, to look at what it has of `object`. False when it is not under way.
    pub(crate) fn examine(&mut self, object: ObjectIndex, examined: bool) -> bool {
        match self.entries.get_mut(&object) {
            Some(Entry::Open(open)) => {
                open.examine(examined);
                true
            }
            other => matches!(other, Some(Entry::Complete { .. })),
        }
    }
}
