//! The objects of one sender in view: a window of ids, sparse.

use super::{
    decode::Decoder,
    format::Format,
    object::ReceiveObject,
    position::{ObjectIndex, Position},
};
use crate::{
    context::Context,
    event::{AbortReason, Event},
    stats::DropReason,
    storage::{ObjectKey, StorageError},
};
use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};
use fanfare_wire::{FecPayloadId, InstanceId, NodeId};

/// Messages with an impossible EXT_FTI after which an object is given up: one may be forged, but an
/// object that is never acceptable must not be asked for until it leaves the window.
const REFUSALS_MAX: u8 = 3;
/// Requests for nothing but INFO that bring none, after which all is asked for: the sender may have
/// objects without it. As often as a sender of ours answers a request for all of an object with its
/// INFO alone.
const INFO_TRIES: u8 = 5;

/// What is known of one object. Ids in the window without an entry: nothing of them was heard.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Heard of, structure unknown.
    Pending {
        /// Its INFO is all that need be asked: it will tell the rest.
        info_only: bool,
        refusals: u8,
    },
    Open(Box<ReceiveObject>),
    Complete {
        /// To mend it, should it prove wrong.
        format: Format,
        /// The driver holds it for good.
        confirmed: bool,
    },
    /// Never asked for again, and no watermark past it is acknowledged.
    GivenUp,
    /// From before our time, and no longer to be had: no concern of ours.
    Skipped,
}

impl Entry {
    fn is_settled(&self) -> bool {
        matches!(self, Self::Complete { .. } | Self::GivenUp | Self::Skipped)
    }
}

/// The window of objects.
#[derive(Debug)]
pub(crate) struct Objects {
    sender: NodeId,
    instance: InstanceId,
    /// Objects before it are no concern of ours.
    floor: ObjectIndex,
    /// All objects in `floor..low` are settled.
    low: ObjectIndex,
    newest: ObjectIndex,
    /// The object first heard of: what lies before it is asked for, but may be gone.
    first: ObjectIndex,
    window: u64,
    entries: BTreeMap<ObjectIndex, Entry>,
    buffered: usize,
    buffer_max: usize,
    /// Of objects that nothing was heard of, so many requests more are for their INFO alone.
    info_tries: u8,
}

impl Objects {
    /// A window that begins at `floor`; `newest` has been heard of.
    pub(crate) fn new(
        (sender, instance): (NodeId, InstanceId),
        (floor, newest): (ObjectIndex, ObjectIndex),
        window: u16,
        buffer_max: usize,
        info_first: bool,
    ) -> Self {
        let window = u64::from(window.clamp(1, 0x7fff));
        let (low, entries) = (floor, BTreeMap::new());
        Self {
            sender,
            instance,
            floor,
            low,
            newest,
            first: newest,
            window,
            entries,
            buffered: 0,
            buffer_max,
            info_tries: if info_first { INFO_TRIES } else { 0 },
        }
    }
    /// Whether only INFO is asked of objects that nothing was heard of.
    pub(crate) fn asks_info_first(&self) -> bool {
        self.info_tries > 0
    }
    /// Something was asked for.
    pub(crate) fn on_asked(&mut self) {
        let heard = self.entries.range(self.low..=self.newest).count() as u64;
        if heard <= self.newest.0.saturating_sub(self.low.0) {
            self.info_tries = self.info_tries.saturating_sub(1);
        }
    }
    pub(crate) fn key(&self, object: ObjectIndex) -> ObjectKey {
        ObjectKey { sender: self.sender, instance: self.instance, object: object.id() }
    }
    pub(crate) fn floor(&self) -> ObjectIndex {
        self.floor
    }
    pub(crate) fn low(&self) -> ObjectIndex {
        self.low
    }
    pub(crate) fn newest(&self) -> ObjectIndex {
        self.newest
    }
    /// Objects that can be in view at once.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }
    pub(crate) fn entry(&self, object: ObjectIndex) -> Option<&Entry> {
        self.entries.get(&object)
    }
    pub(crate) fn range(
        &self,
        first: ObjectIndex,
        end: ObjectIndex,
    ) -> impl Iterator<Item = (ObjectIndex, &Entry)> {
        self.entries.range(first..end.max(first)).map(|(&object, entry)| (object, entry))
    }
    pub(crate) fn open(&self, object: ObjectIndex) -> Option<&ReceiveObject> {
        match self.entries.get(&object) {
            Some(Entry::Open(open)) => Some(open),
            _ => None,
        }
    }
    /// The object that `key` names, if it is in view.
    pub(crate) fn find(&self, key: ObjectKey) -> Option<ObjectIndex> {
        let object = self.newest.nearest(key.object);
        (self.instance == key.instance && object >= self.floor).then_some(object)
    }

    /// The sender has reached `object`: what is older than the window is given up.
    pub(crate) fn reached(&mut self, ctx: &mut Context<'_>, object: ObjectIndex) {
        if object > self.newest {
            self.newest = object;
            let floor = ObjectIndex(object.next().0.saturating_sub(self.window));
            self.raise_floor(ctx, floor, AbortReason::Window);
        }
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
        for (object, entry) in gone {
            self.close(ctx, object, entry, reason);
        }
        self.floor = floor;
        self.settle();
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
            self.settle();
        }
    }

    /// Aborts everything under way.
    pub(crate) fn abort_all(&mut self, ctx: &mut Context<'_>, reason: AbortReason) {
        self.abort_where(ctx, reason, |entry| !entry.is_settled());
    }

    /// The sender has left: aborts what only it could have completed.
    pub(crate) fn abort_lacking(&mut self, ctx: &mut Context<'_>) {
        let may_be_whole = |entry: &Entry| matches!(entry, Entry::Open(open) if open.is_examined() && !open.wants_info());
        let lacking = |entry: &Entry| !entry.is_settled() && !may_be_whole(entry);
        self.abort_where(ctx, AbortReason::SenderGone, lacking);
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

    /// Something of `object` was heard, but nothing that tells its structure.
    pub(crate) fn hear_of(&mut self, object: ObjectIndex, info_only: bool) {
        if object >= self.floor {
            let unknown = Entry::Pending { info_only, refusals: 0 };
            self.entries.entry(object).or_insert(unknown);
        }
    }

    /// EXT_FTI of `object` was refused.
    pub(crate) fn refuse(&mut self, ctx: &mut Context<'_>, object: ObjectIndex) {
        ctx.stats.drop(DropReason::ObjectInfo);
        let unknown = Entry::Pending { info_only: false, refusals: 0 };
        if let Entry::Pending { refusals, .. } = self.entries.entry(object).or_insert(unknown) {
            *refusals += 1;
            if *refusals >= REFUSALS_MAX {
                self.abort(ctx, object, AbortReason::Storage(StorageError::Refused));
            }
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
            (_, Some(format)) => self.begin(ctx, object, format, has_info),
        }
    }

    fn begin(
        &mut self,
        ctx: &mut Context<'_>,
        object: ObjectIndex,
        format: Format,
        has_info: bool,
    ) -> bool {
        match ReceiveObject::open(ctx, self.key(object), format, has_info) {
            Ok(open) => {
                self.entries.insert(object, Entry::Open(Box::new(open)));
                if has_info && self.asks_info_first() {
                    self.info_tries = INFO_TRIES;
                }
                true
            }
            Err(error) => {
                self.fail(ctx, object, error);
                false
            }
        }
    }

    /// Storage refused: the object is given up, and remembered as such.
    fn fail(&mut self, ctx: &mut Context<'_>, object: ObjectIndex, error: StorageError) {
        ctx.stats.drop(DropReason::Storage);
        let reason = AbortReason::Storage(error);
        self.abort(ctx, object, reason);
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
        let cost = open.cost(id, payload.len());
        if cost > 0 && !self.make_room(object, id.block.0, cost) {
            ctx.stats.drop(DropReason::BufferFull);
            return false;
        }
        let Some(Entry::Open(open)) = self.entries.get_mut(&object) else { return false };
        let before = open.buffered();
        let result = open.on_symbol(ctx, decoder, id, payload);
        self.buffered = self.buffered - before + open.buffered();
        match result {
            Ok(new) => {
                self.complete(ctx, object);
                new
            }
            Err(error) => {
                self.fail(ctx, object, error);
                false
            }
        }
    }

    /// An empty object was heard of: with its INFO, if it has one, it is complete.
    pub(crate) fn touch_empty(&mut self, ctx: &mut Context<'_>, object: ObjectIndex) {
        self.complete(ctx, object);
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

    fn complete(&mut self, ctx: &mut Context<'_>, object: ObjectIndex) {
        let Some(Entry::Open(open)) = self.entries.get(&object) else { return };
        if !open.is_complete() {
            return;
        }
        let (key, format) = (self.key(object), *open.format());
        let size = format.partition.object_size;
        self.buffered -= open.buffered();
        self.entries.insert(object, Entry::Complete { format, confirmed: false });
        ctx.storage.close(key, true);
        ctx.events.push(Event::ObjectCompleted { key, size });
        self.settle();
    }

    /// Moves `low` past what is settled.
    fn settle(&mut self) {
        self.low = self.low.max(self.floor);
        while self.entries.get(&self.low).is_some_and(Entry::is_settled) {
            self.low = self.low.next();
        }
    }

    /// The driver holds the object for good.
    pub(crate) fn confirm(&mut self, object: ObjectIndex) {
        if let Some(Entry::Complete { confirmed, .. }) = self.entries.get_mut(&object) {
            *confirmed = true;
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

    /// The earliest place where something is to be asked for: O(log n), but for objects that are
    /// being examined.
    pub(crate) fn first_need(&self) -> Position {
        let mut at = self.low;
        for (&object, entry) in self.entries.range(self.low..) {
            let need = match entry {
                Entry::Open(open) => open.first_need(),
                entry if entry.is_settled() => None,
                _ => Some(0),
            };
            if let (true, Some(block)) = (object == at, need) {
                return Position { object, block: u64::from(block) };
            }
            if object != at {
                break;
            }
            at = at.next();
        }
        Position { object: at, block: 0 }
    }
}
