//! Ends objects that will not be completed: aborted, skipped or refused ones.

use super::{Entry, Objects, refusals::FormatTold};
use crate::{
    context::Context,
    event::{AbortReason, Event},
    receiver::{format_doubt::FormatDoubts, position::ObjectIndex},
    stats::DropReason,
    storage::StorageError,
};
use alloc::vec::Vec;

/// Messages in a row with the same impossible EXT_FTI after which an object is given up: one may be forged,
/// but an object that is never acceptable must not be requested until it leaves the window.
const REFUSALS_MAX: u8 = 3;

impl Objects {
    /// The sender has reached `object`: what is older than the window is given up.
    pub(crate) fn reached(&mut self, ctx: &mut Context<'_>, object: ObjectIndex) {
        if object > self.newest {
            self.newest = object;
            let floor = ObjectIndex(object.next().0.saturating_sub(self.window));
            self.raise_floor(ctx, floor, AbortReason::Window);
        }
    }

    /// Whether nothing is dropped when the sender has reached `object`.
    pub(crate) fn keeps_all_at(&self, object: ObjectIndex) -> bool {
        let floor = self.floor_at(object);
        floor <= self.floor || self.entries.range(..floor).next().is_none()
    }

    /// The first object in view when the sender has reached `object`.
    pub(crate) fn floor_at(&self, object: ObjectIndex) -> ObjectIndex {
        ObjectIndex(object.next().0.saturating_sub(self.window))
    }

    /// Objects before `floor` no longer count; those under way are aborted.
    pub(crate) fn raise_floor(
        &mut self,
        ctx: &mut Context<'_>,
        floor: ObjectIndex,
        reason: AbortReason,
    ) {
        if floor <= self.floor {
            return;
        }
        let kept = self.entries.split_off(&floor);
        let gone = core::mem::replace(&mut self.entries, kept);
        let told = |(object, entry): &(&ObjectIndex, &Entry)| {
            **object >= self.low && !matches!(entry, Entry::Pending { .. })
        };
        let unheard_from = |first: ObjectIndex| {
            let told = gone.iter().filter(told).filter(|(object, _)| **object >= first).count();
            floor.0.saturating_sub(first.0) - told as u64
        };
        let unheard = unheard_from(self.low.min(floor));
        let missed = unheard_from(self.low.max(self.first).min(floor));
        for (object, entry) in gone {
            self.close(ctx, object, entry, reason);
        }
        self.floor = floor;
        self.settle();
        if unheard > 0 {
            ctx.events.push(Event::ObjectsMissed { oldest: self.key(floor), missed });
        }
    }

    /// Gives `object` up for good, unless it is settled already.
    pub(crate) fn abort(
        &mut self,
        ctx: &mut Context<'_>,
        object: ObjectIndex,
        reason: AbortReason,
    ) {
        if object < self.floor || self.entries.get(&object).is_some_and(Entry::is_settled) {
            return;
        }
        if let Some(Entry::Open(open)) = self.entries.insert(object, Entry::GivenUp) {
            self.buffered -= open.buffered();
            ctx.storage.close(self.key(object), false);
        }
        ctx.events.push(Event::ObjectAborted { key: self.key(object), reason });
        self.settle();
    }

    /// The sender can no longer repair `object`, of which nothing is here.
    pub(crate) fn pass_over(&mut self, ctx: &mut Context<'_>, object: ObjectIndex) {
        if object >= self.first {
            return self.abort(ctx, object, AbortReason::Squelched);
        }
        if object >= self.floor && !self.entries.get(&object).is_some_and(Entry::is_settled) {
            self.entries.insert(object, Entry::Skipped);
            ctx.events.push(Event::ObjectSkipped { key: self.key(object) });
            self.settle();
        }
    }

    /// It was sent before this receiver joined.
    pub(crate) fn is_from_before(&self, object: ObjectIndex) -> bool {
        object < self.first
    }

    /// True if nothing that lies before it has been heard of since this receiver joined.
    pub(crate) fn is_first_or_before(&self, object: ObjectIndex) -> bool {
        object <= self.first
    }

    /// Whether something that only the sender has is missing.
    pub(crate) fn lacks(&self) -> bool {
        let whole = |entry: &Entry| matches!(entry, Entry::Open(open) if open.is_stream_whole());
        self.entries.values().any(|entry| !entry.is_settled() && !whole(entry))
    }

    /// Aborts everything under way.
    pub(crate) fn abort_all(&mut self, ctx: &mut Context<'_>, reason: AbortReason) {
        self.abort_where(ctx, reason, |entry| !entry.is_settled());
    }

    /// The sender has left: aborts what only it could have completed.
    pub(crate) fn abort_lacking(&mut self, ctx: &mut Context<'_>) {
        let may_be_whole = |entry: &Entry| matches!(entry, Entry::Open(open) if open.is_examined() && !open.wants_info());
        // What is here of a stream to its end is still read.
        let whole = |entry: &Entry| matches!(entry, Entry::Open(open) if open.is_stream_whole());
        let lacking = |entry: &Entry| !entry.is_settled() && !may_be_whole(entry) && !whole(entry);
        self.abort_where(ctx, AbortReason::SenderGone, lacking);
    }

    /// The sender has sent nothing after `last`: what others have said of later objects is forgotten.
    pub(crate) fn forget_after(&mut self, ctx: &mut Context<'_>, last: ObjectIndex) {
        for object in self.forget_where(ctx, |object, entry| object > last && !entry.is_settled()) {
            let (key, reason) = (self.key(object), AbortReason::Unsent);
            ctx.events.push(Event::ObjectAborted { key, reason });
        }
        self.newest = self.last_entry().max(last);
    }

    /// Who has told of them was not the sender: all objects but those that are here whole are as if
    /// nothing had been heard of them.
    pub(crate) fn forget_unproved(&mut self, ctx: &mut Context<'_>) {
        self.forget_where(ctx, |_, entry| !matches!(entry, Entry::Complete { .. }));
        self.doubts = FormatDoubts::default();
        self.newest = self.last_entry();
    }

    /// Forgets one that the driver has given up, or found wrong. It may come anew.
    pub(crate) fn forget(&mut self, ctx: &mut Context<'_>, object: ObjectIndex) {
        let proved = |entry: &Entry| matches!(entry, Entry::Complete { confirmed: true, .. });
        self.forget_where(ctx, |other, entry| other == object && !proved(entry));
    }

    fn last_entry(&self) -> ObjectIndex {
        self.entries.last_key_value().map_or(self.floor, |(object, _)| *object)
    }

    /// Forgets these, but for streams, which are read as they come. Tells which were under way.
    fn forget_where(
        &mut self,
        ctx: &mut Context<'_>,
        which: impl Fn(ObjectIndex, &Entry) -> bool,
    ) -> Vec<ObjectIndex> {
        let is_stream = |entry: &Entry| matches!(entry, Entry::Open(o) if o.stream.is_some());
        let chosen =
            |object: &ObjectIndex, entry: &mut Entry| !is_stream(entry) && which(*object, entry);
        let gone: Vec<(ObjectIndex, Entry)> = self.entries.extract_if(.., chosen).collect();
        if let Some((first, _)) = gone.first() {
            self.low = self.low.min(*first);
            self.settle();
        }
        let mut open = Vec::new();
        for (object, entry) in gone {
            if let Entry::Open(gone) = entry {
                self.buffered -= gone.buffered();
                ctx.storage.close(self.key(object), false);
                open.push(object);
            }
        }
        open
    }

    fn abort_where(
        &mut self,
        ctx: &mut Context<'_>,
        reason: AbortReason,
        which: impl Fn(&Entry) -> bool,
    ) {
        let chosen = |(&object, entry): (&ObjectIndex, &Entry)| which(entry).then_some(object);
        let objects: Vec<ObjectIndex> = self.entries.iter().filter_map(chosen).collect();
        objects.into_iter().for_each(|object| self.abort(ctx, object, reason));
    }

    fn close(
        &mut self,
        ctx: &mut Context<'_>,
        object: ObjectIndex,
        entry: Entry,
        reason: AbortReason,
    ) {
        if let Entry::Open(open) = entry {
            let key = self.key(object);
            self.buffered -= open.buffered();
            ctx.storage.close(key, false);
            ctx.events.push(Event::ObjectAborted { key, reason });
        }
    }

    /// EXT_FTI of `object` was refused; where it is too long, the INFO that said so, if one did.
    pub(crate) fn refuse(
        &mut self,
        ctx: &mut Context<'_>,
        object: ObjectIndex,
        told: FormatTold,
        too_long: Option<Option<&[u8]>>,
    ) {
        ctx.stats.drop(DropReason::ObjectInfo);
        let (key, count) = (self.key(object), self.count_refusal(object, told));
        if count == 0 {
            return;
        }
        let event = too_long.map(|info| {
            let info = info.map(<[u8]>::to_vec);
            Event::ObjectTooLong { key, size: told.fti.object_size, info }
        });
        event.into_iter().for_each(|event| ctx.events.push(event));
        if count >= REFUSALS_MAX {
            self.abort(ctx, object, AbortReason::Storage(StorageError::Refused));
        }
    }

    /// Storage refused: the object is given up, and remembered as such.
    pub(super) fn fail(&mut self, ctx: &mut Context<'_>, object: ObjectIndex, error: StorageError) {
        ctx.stats.drop(DropReason::Storage);
        let reason = AbortReason::Storage(error);
        self.abort(ctx, object, reason);
    }
}
