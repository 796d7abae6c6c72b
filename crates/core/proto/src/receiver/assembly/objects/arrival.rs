//! Opens, fills and completes a sender's objects as its messages arrive.

use super::{Entry, INFO_TRIES, Objects, refusals::FormatTold};
use crate::{
    config::ReceiverConfig,
    context::Context,
    event::{AbortReason, Event},
    peer_repair::Combination,
    receiver::{
        decode::Decoder,
        format::Format,
        object::{Arrival, ReceiveObject},
        position::ObjectIndex,
    },
    stats::DropReason,
    storage::{ObjectKind, StorageError},
};
use alloc::boxed::Box;
use fanfare_wire::{DataBatch, FecPayloadId};

impl Objects {
    /// The sender itself tells what `object` is. One that was begun as something else, and that it has
    /// called this for some time, is let go of, to begin anew.
    pub(crate) fn doubt(&mut self, ctx: &mut Context<'_>, object: ObjectIndex, format: Format) {
        let Some(Entry::Open(open)) = self.entries.get(&object) else { return };
        // A stream is read as it comes.
        let is_stream = open.stream.is_some() && format.kind == ObjectKind::Stream;
        if is_stream || *open.format() == format {
            self.doubts.on_same(object);
        } else if self.doubts.on_other(ctx.now, object, format) {
            self.buffered -= open.buffered();
            self.entries.remove(&object);
            ctx.storage.close(self.key(object), false);
        }
    }

    /// Makes sure that `object` is open; false when it cannot take anything (settled, or its
    /// `format` differs from the one it was opened with).
    pub(crate) fn ensure_open(
        &mut self,
        ctx: &mut Context<'_>,
        object: ObjectIndex,
        format: Option<Format>,
        has_info: bool,
        config: &ReceiverConfig,
    ) -> bool {
        match (self.entries.get(&object), format) {
            (Some(Entry::Complete { .. }), _) => {
                ctx.stats.drop(DropReason::Duplicate);
                false
            }
            (Some(Entry::GivenUp | Entry::Skipped), _) => {
                ctx.stats.drop(DropReason::OutOfWindow);
                false
            }
            (Some(Entry::Open(open)), Some(format)) if *open.format() != format => {
                ctx.stats.drop(DropReason::ObjectInfo);
                false
            }
            (Some(Entry::Open(_)), _) => true,
            (_, None) => {
                ctx.stats.drop(DropReason::ObjectInfo);
                self.hear_of(object, true);
                false
            }
            (_, Some(format)) => self.begin(ctx, object, format, has_info, config),
        }
    }

    fn begin(
        &mut self,
        ctx: &mut Context<'_>,
        object: ObjectIndex,
        format: Format,
        has_info: bool,
        config: &ReceiverConfig,
    ) -> bool {
        match ReceiveObject::open(ctx, self.key(object), format, has_info, config) {
            Ok(mut open) => {
                open.nacking = self.nacking;
                self.entries.insert(object, Entry::Open(Box::new(open)));
                if has_info && self.asks_info_first() {
                    self.info_tries = INFO_TRIES;
                }
                true
            }
            Err(error) => {
                ctx.stats.drop(DropReason::Storage);
                let told = FormatTold { fti: format.fti, kind: format.kind };
                if self.count_refusal(object, told) >= config.refused_after.max(1) {
                    self.abort(ctx, object, AbortReason::Storage(error));
                }
                false
            }
        }
    }

    /// INFO of an open object.
    pub(crate) fn on_info(&mut self, ctx: &mut Context<'_>, object: ObjectIndex, payload: &[u8]) {
        if let Some(Entry::Open(open)) = self.entries.get_mut(&object) {
            open.on_info(ctx, payload);
            self.complete(ctx, object);
        }
    }

    /// A symbol of an open object. True when it was new.
    pub(crate) fn on_symbol(
        &mut self,
        ctx: &mut Context<'_>,
        decoder: &mut Decoder,
        object: ObjectIndex,
        id: FecPayloadId,
        payload: &[u8],
    ) -> bool {
        let Some(Entry::Open(open)) = self.entries.get(&object) else { return false };
        if open.format().partition.blocks == 0 {
            // With its INFO, if it has one, it is complete.
            self.complete(ctx, object);
            return false;
        }
        let cost = open.cost(id, payload.len());
        if cost > 0 && !self.make_room(object, id.block.0, cost) {
            ctx.stats.drop(DropReason::BufferFull);
            return false;
        }
        let Some(Entry::Open(open)) = self.entries.get_mut(&object) else { return false };
        let before = open.buffered();
        let result = open.on_symbol(ctx, decoder, id, payload);
        self.buffered = self.buffered - before + open.buffered();
        self.arrived(ctx, object, result)
    }

    /// A sum of symbols of a block of an open object. True when it was new.
    pub(crate) fn on_combination(
        &mut self,
        ctx: &mut Context<'_>,
        decoder: &mut Decoder,
        object: ObjectIndex,
        (block, combination): (u32, &Combination),
        payload: &[u8],
    ) -> bool {
        let Some(Entry::Open(open)) = self.entries.get(&object) else { return false };
        let cost = open.cost_of_sum(block, payload.len());
        if !self.make_room(object, block, cost) {
            ctx.stats.drop(DropReason::BufferFull);
            return false;
        }
        let Some(Entry::Open(open)) = self.entries.get_mut(&object) else { return false };
        let before = open.buffered();
        let result = open.on_combination(ctx, decoder, (block, combination), payload);
        self.buffered = self.buffered - before + open.buffered();
        self.arrived(ctx, object, result)
    }

    fn arrived(
        &mut self,
        ctx: &mut Context<'_>,
        object: ObjectIndex,
        result: Result<Arrival, StorageError>,
    ) -> bool {
        match result {
            Ok(arrival) => {
                if arrival != Arrival::New {
                    self.complete(ctx, object);
                }
                arrival != Arrival::Nothing
            }
            Err(error) => {
                self.fail(ctx, object, error);
                false
            }
        }
    }

    /// How many symbols of a row that begins with `id` can be taken at once.
    pub(crate) fn batch_wanted(
        &self,
        object: ObjectIndex,
        id: FecPayloadId,
        batch: &DataBatch<'_>,
    ) -> usize {
        self.open(object).map_or(0, |open| open.batch_wanted(id, batch))
    }

    /// Symbols of an open object, all of them wanted.
    pub(crate) fn on_batch(
        &mut self,
        ctx: &mut Context<'_>,
        decoder: &mut Decoder,
        object: ObjectIndex,
        id: FecPayloadId,
        batch: DataBatch<'_>,
    ) -> bool {
        let Some(Entry::Open(open)) = self.entries.get_mut(&object) else { return false };
        let before = open.buffered();
        let result = open.on_batch(ctx, decoder, id, batch);
        self.buffered = self.buffered - before + open.buffered();
        self.arrived(ctx, object, result)
    }

    /// The newest blocks give way to older ones: what is oldest completes first.
    fn make_room(&mut self, object: ObjectIndex, block: u32, cost: usize) -> bool {
        while self.buffered + cost > self.buffer_max {
            let freed = self.entries.range_mut(object..).rev().find_map(|(&at, entry)| {
                let Entry::Open(open) = entry else { return None };
                let freed = open.give_way((at == object).then_some(block));
                (freed > 0).then_some(freed)
            });
            let Some(freed) = freed else { return false };
            self.buffered -= freed;
        }
        true
    }

    pub(in crate::receiver) fn complete(&mut self, ctx: &mut Context<'_>, object: ObjectIndex) {
        let Some(Entry::Open(open)) = self.entries.get(&object) else { return };
        if !open.is_complete() {
            return;
        }
        let (key, format) = (self.key(object), *open.format());
        let size = open.stream_state().map_or(format.partition.object_size, |(offset, ..)| offset);
        self.buffered -= open.buffered();
        self.entries.insert(object, Entry::Complete { format, confirmed: false });
        ctx.storage.close(key, true);
        ctx.events.push(Event::ObjectCompleted { key, size });
        self.settle();
    }
}
