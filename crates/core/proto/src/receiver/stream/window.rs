//! The blocks of a stream that are in view.
//!
//! Blocks below the window count as complete, so that nothing of them is requested; what is missing
//! of them is noted as lost.

use crate::receiver::{
    blocks::{BlockNeed, BlockSet},
    format::Format,
    runs::RunSet,
};
use crate::{
    config::{JoinPolicy, ReceiverConfig},
    storage::{ObjectKey, Storage, StorageError},
    stream::layout,
    time::{Duration, Time},
};

/// Requests for what may come behind the last symbol heard, while the sender is busy with later
/// objects: the end may have been lost. Then it is not there.
const END_TRIES: u8 = 20;

/// What a stream knows beside its blocks.
#[derive(Debug)]
pub(in crate::receiver) struct ReceiveStream {
    block_len: u64,
    /// Size of the space of block numbers on the wire.
    space: u64,
    /// Blocks that the sender promises to repair, and that the store has room for.
    promised: u32,
    room: u32,
    begun: bool,
    /// Symbols that are known to have been sent.
    pub(super) heard: u64,
    /// The symbol that says that the stream has ended.
    pub(super) end: Option<u64>,
    /// The next symbol to be read.
    pub(super) next: u64,
    /// Position of the next byte to be read.
    pub(super) offset: u64,
    /// Anything was read, or told as lost.
    pub(super) read: bool,
    /// Symbols before `next` were lost, and nobody was told yet.
    pub(super) gap: bool,
    /// Whoever reads waits for more.
    pub(super) waits: bool,
    /// All was read; and that was told.
    pub(super) done: bool,
    pub(super) told: bool,
    /// Symbols not yet passed that will not come.
    pub(super) lost: RunSet,
    /// Symbols not yet passed that were read before their turn.
    pub(super) early: RunSet,
    /// The sender has said that it no longer has what lies before this block; when first.
    squelched: Option<(u32, Time)>,
    /// A block far ahead was heard once.
    jump: Option<u32>,
    end_tries: u8,
}

/// What to do with a symbol of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is in view.
    View,
    /// It is in view when all below this block is given up.
    After(u32),
    /// It comes too early, or is not believed.
    No,
}

impl ReceiveStream {
    /// Makes room in the store.
    ///
    /// # Errors
    /// What the store says; [`StorageError::Refused`] for blocks of which not even two fit.
    pub(in crate::receiver) fn open(
        storage: &mut dyn Storage,
        key: ObjectKey,
        format: &Format,
        config: &ReceiverConfig,
    ) -> Result<Self, StorageError> {
        let (segment, len) = (format.fti.segment_size, format.fti.max_block_len);
        let slot = usize::from(format.partition.segment_size);
        let space = layout::block_space(format.fec_id, format.fti.field);
        let promised = layout::window(format.fti.object_size, segment, len).min(space / 2 - 1);
        let block = slot * usize::from(len);
        let windows = u64::from(config.stream_windows.max(2));
        // Numbers are compared within half of their space.
        let room = (promised * windows).min(space / 2 - 1).max(promised * 2);
        let room = room.min((config.stream_buffer / block) as u64);
        if room < 2 {
            return Err(StorageError::Refused);
        }
        storage.open_ring(key, slot, room * u64::from(len))?;
        Ok(Self {
            block_len: u64::from(len),
            space,
            promised: promised as u32,
            room: room as u32,
            begun: false,
            heard: 0,
            end: None,
            next: 0,
            offset: 0,
            read: false,
            gap: false,
            waits: true,
            done: false,
            told: false,
            lost: RunSet::default(),
            early: RunSet::default(),
            squelched: None,
            jump: None,
            end_tries: 0,
        })
    }

    pub(super) fn index(&self, block: u32, symbol: u16) -> u64 {
        u64::from(block) * self.block_len + u64::from(symbol)
    }

    pub(super) fn block_of(&self, index: u64) -> u32 {
        (index / self.block_len) as u32
    }

    pub(super) fn symbol_of(&self, index: u64) -> u16 {
        (index % self.block_len) as u16
    }

    /// Symbols of the block that is not known to be whole at the sender, and that block.
    pub(super) fn tail(&self) -> (u32, u16) {
        (self.block_of(self.heard), self.symbol_of(self.heard))
    }

    /// The block that a number on the wire stands for.
    pub(in crate::receiver) fn whole_number(&self, wire: u32) -> u32 {
        match self.begun {
            true => layout::nearest(self.block_of(self.heard), wire, self.space),
            false => wire,
        }
    }

    /// Slots that the store has.
    pub(super) fn slots(&self) -> u64 {
        u64::from(self.room) * self.block_len
    }

    /// A symbol of `block` is heard, which is not a repair unless `repair` says so: where to begin,
    /// and whether it is in view.
    pub(super) fn admit(
        &mut self,
        blocks: &mut BlockSet,
        block: u32,
        join: JoinPolicy,
    ) -> Admission {
        if !self.begun {
            self.begun = true;
            let first = match join {
                JoinPolicy::FromNow => block,
                JoinPolicy::ObjectStart | JoinPolicy::AllCached => {
                    block.saturating_sub(self.promised.min(self.room) - 1)
                }
            };
            self.heard = self.index(block, 0);
            self.begin_at(blocks, first);
        }
        let reader = self.block_of(self.next);
        if block.saturating_sub(reader) < self.room {
            self.jump = None;
            return Admission::View;
        }
        // What the sender still has is requested again when there is room.
        if block.saturating_sub(reader) < self.promised.saturating_mul(2) {
            return Admission::No;
        }
        let newest = self.block_of(self.heard.saturating_sub(1));
        if block.saturating_sub(newest) > self.room
            && self.jump.replace(block).is_none_or(|last| last.abs_diff(block) > self.room)
        {
            return Admission::No;
        }
        Admission::After(block + 1 - self.room)
    }

    fn begin_at(&mut self, blocks: &mut BlockSet, first: u32) {
        blocks.finish_all(0..first);
        self.next = self.next.max(self.index(first, 0));
    }

    /// A symbol up to here was sent.
    pub(super) fn hear(&mut self, until: u64) {
        if until > self.heard {
            self.heard = self.end.map_or(until, |end| until.min(end + 1));
            self.end_tries = 0;
        }
    }

    /// What is missing below `block` will not come. What is here of it is still read.
    pub(super) fn give_up(&mut self, blocks: &mut BlockSet, block: u32) {
        for need in blocks.needs(u64::from(block)) {
            match need {
                BlockNeed::Absent { first, last } => {
                    let end = (u64::from(last) + 1) * self.block_len;
                    self.lost.insert(u64::from(first) * self.block_len, end);
                }
                BlockNeed::Partial { block, state } => {
                    for symbol in state.missing_sources() {
                        let index = u64::from(block) * self.block_len + u64::from(symbol);
                        self.lost.insert(index, index + 1);
                    }
                }
            }
        }
        blocks.finish_all(0..block);
        self.hear(self.index(block, 0));
    }

    /// The place below `block` is needed for what is new: nothing below it is read any more.
    pub(super) fn make_room(&mut self, blocks: &mut BlockSet, block: u32) {
        self.give_up(blocks, block);
        let low = self.index(block, 0);
        self.lost.remove(0, low);
        if self.next < low {
            self.next = low;
            self.gap = true;
        }
    }

    /// The sender says that it has nothing below `block`. Believed at once by who has yet to begin, and
    /// where the sender has promised no more; else when it is said again, a GRTT later at least.
    pub(in crate::receiver) fn on_squelch(
        &mut self,
        blocks: &mut BlockSet,
        block: u32,
        (now, grtt): (Time, Duration),
    ) -> bool {
        if self.index(block, 0) > self.heard || blocks.first_incomplete().is_none_or(|n| n >= block)
        {
            return true;
        }
        let absent = |need: BlockNeed<'_>| matches!(need, BlockNeed::Absent { .. });
        let from = self.block_of(self.next);
        if !self.read
            && from < block
            && blocks.needs(u64::from(block)).all(absent)
            && !(from..block).any(|block| blocks.is_complete(block))
        {
            self.begin_at(blocks, block);
            return true;
        }
        let missing = blocks.first_incomplete().unwrap_or(block);
        if self.block_of(self.heard) >= missing.saturating_add(self.promised) {
            self.squelched = None;
            self.give_up(blocks, block);
            return true;
        }
        let (before, since) = *self.squelched.get_or_insert((block, now));
        if now.since(since) < grtt || now == since {
            return false;
        }
        self.squelched = None;
        self.give_up(blocks, before.min(block));
        true
    }

    /// Something below a block that was said to be gone has come all the same.
    pub(super) fn contradict(&mut self, block: u32) {
        self.squelched = self.squelched.filter(|(gone, _)| *gone <= block);
    }

    /// Whether to ask for a symbol behind the last one heard: the sender has gone on to other objects.
    pub(super) fn asks_for_end(&self, beyond: bool) -> bool {
        beyond && self.end.is_none() && self.begun && self.end_tries < END_TRIES
    }

    /// It was requested.
    pub(in crate::receiver) fn on_asked(&mut self) {
        self.end_tries = self.end_tries.saturating_add(1);
    }
}
