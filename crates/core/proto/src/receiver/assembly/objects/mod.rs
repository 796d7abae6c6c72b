//! The objects of one sender in view: a sparse window of object ids.
//!
//! - [`arrival`]: opens, fills and completes them
//! - [`resume`]: bytes that the driver has already, or found wrong
//! - [`ending`]: objects that will not be completed; [`refusals`]: those that cannot be taken

mod arrival;
mod ending;
pub(in crate::receiver) mod refusals;
mod resume;

use crate::receiver::{
    format::Format,
    format_doubt::FormatDoubts,
    object::ReceiveObject,
    position::{ObjectIndex, Position},
    unfinished::Unfinished,
    window_passing::WindowPassing,
};
use crate::{config::Nacking, storage::ObjectKey};
use alloc::{boxed::Box, collections::BTreeMap};
use fanfare_wire::{InstanceId, NodeId};
use refusals::RefusalCount;

/// Requests for nothing but INFO that bring none, after which all is requested: the sender may have
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
        refusals: RefusalCount,
    },
    Open(Box<ReceiveObject>),
    Complete {
        /// To repair it, should it prove wrong.
        format: Format,
        /// The driver holds it for good.
        confirmed: bool,
    },
    /// Never requested again, and no watermark past it is acknowledged.
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
    /// The object first heard of: what lies before it is requested, but may be gone.
    first: ObjectIndex,
    window: u64,
    entries: BTreeMap<ObjectIndex, Entry>,
    buffered: usize,
    buffer_max: usize,
    /// Of objects that nothing was heard of, so many requests more are for their INFO alone.
    info_tries: u8,
    /// Of objects whose INFO is missing nothing else is requested.
    info_decides: bool,
    /// What is requested of objects that are to begin.
    nacking: Nacking,
    pub(in crate::receiver) passing: WindowPassing,
    doubts: FormatDoubts,
    /// Those that the sender has yet to send the rest of, though later ones were sent.
    pub(in crate::receiver) unfinished: Unfinished,
}

impl Objects {
    /// A window that begins at `floor`; `newest` has been heard of.
    pub(crate) fn new(
        (sender, instance): (NodeId, InstanceId),
        (floor, newest): (ObjectIndex, ObjectIndex),
        window: u16,
        buffer_max: usize,
        (info_first, info_decides): (bool, bool),
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
            info_decides,
            nacking: Nacking::Normal,
            passing: WindowPassing::at(newest),
            doubts: FormatDoubts::default(),
            unfinished: Unfinished::default(),
        }
    }

    /// Objects that are here whole.
    pub(crate) fn whole(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter(|entry| matches!(entry, Entry::Complete { .. }))
    }

    /// Whether only INFO is asked of objects that nothing was heard of.
    pub(crate) fn asks_info_first(&self) -> bool {
        self.info_tries > 0
    }

    /// What is requested of objects that begin from now on.
    pub(crate) fn set_nacking(&mut self, nacking: Nacking) {
        self.nacking = nacking;
    }

    /// What is requested of objects of which little is known.
    pub(crate) fn nacking(&self) -> Nacking {
        self.nacking
    }

    /// Whether nothing else is asked of an object whose INFO is missing.
    pub(crate) fn info_decides(&self) -> bool {
        self.info_decides
    }

    /// Something was requested.
    pub(crate) fn on_asked(&mut self) {
        if self.low > self.newest {
            return;
        }
        let heard = self.entries.range(self.low..=self.newest).count() as u64;
        if heard <= self.newest.0.saturating_sub(self.low.0) {
            self.info_tries = self.info_tries.saturating_sub(1);
        }
        if let Some(Entry::Open(open)) = self.entries.get_mut(&self.low)
            && let Some(stream) = open.stream.as_mut().filter(|_| self.newest > self.low)
        {
            stream.on_asked();
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

    pub(crate) fn open_mut(&mut self, object: ObjectIndex) -> Option<&mut ReceiveObject> {
        match self.entries.get_mut(&object) {
            Some(Entry::Open(open)) => Some(open),
            _ => None,
        }
    }

    /// The object that `key` names, if it is in view.
    pub(crate) fn find(&self, key: ObjectKey) -> Option<ObjectIndex> {
        let object = self.newest.nearest(key.object);
        (self.instance == key.instance && object >= self.floor).then_some(object)
    }

    /// Something of `object` was heard, but nothing that tells its structure.
    pub(crate) fn hear_of(&mut self, object: ObjectIndex, info_only: bool) {
        if object >= self.floor {
            let unknown = Entry::Pending { info_only, refusals: RefusalCount::default() };
            self.entries.entry(object).or_insert(unknown);
        }
    }

    /// Moves `low` past what is settled.
    fn settle(&mut self) {
        self.low = self.low.max(self.floor);
        while self.entries.get(&self.low).is_some_and(Entry::is_settled) {
            self.low = self.low.next();
        }
    }

    /// The earliest place where something is to be requested: O(log n), but for objects that are
    /// being examined.
    pub(crate) fn first_need(&self) -> Position {
        let mut at = self.low;
        for (&object, entry) in self.entries.range(self.low..) {
            if object != at {
                // Nothing was sent of what is passed over.
                at = self.unfinished.skip(at, object);
            }
            let need = match entry {
                Entry::Open(open) => {
                    let bound = self.bound(object, open);
                    let sent = |block: &u32| open.wants_info() || u64::from(*block) < bound;
                    open.first_need(self.newest > object).filter(sent)
                }
                entry if entry.is_settled() || self.is_unsent(object, entry) => None,
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
        let end = ObjectIndex(u64::MAX);
        Position { object: self.unfinished.skip(at, end), block: 0 }
    }

    /// True if something of `object` is requested.
    pub(crate) fn asks_for(&self, object: ObjectIndex) -> bool {
        match self.entries.get(&object) {
            Some(Entry::Open(open)) => open.first_need(self.newest > object).is_some(),
            Some(Entry::Pending { .. }) | None => self.nacking != Nacking::None,
            Some(_) => false,
        }
    }

    /// Blocks of `object` before this one have been sent, as far as anybody can know.
    pub(crate) fn bound(&self, object: ObjectIndex, open: &ReceiveObject) -> u64 {
        match self.unfinished.contains(object) {
            true => self.unfinished.bound(open.heard()),
            false => u64::MAX,
        }
    }

    /// Whether nothing of `object` has been sent, as far as anybody can know.
    pub(crate) fn is_unsent(&self, object: ObjectIndex, entry: &Entry) -> bool {
        matches!(entry, Entry::Pending { info_only: false, .. }) && self.unfinished.contains(object)
    }
}
