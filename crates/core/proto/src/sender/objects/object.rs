//! One object that is being sent: how far the first pass is, and what must be sent again.
//!
//! The pass over all blocks is a cursor, not a bitmap. A block has a state of its own only after a
//! receiver requested something of it.

use super::{
    line::Place,
    piece::{Part, Piece, Purpose},
    symbol_batch::SymbolBatch,
};
use crate::{
    enqueue::Turn,
    partition::Partition,
    sender::{
        block::TransmitBlock, block_ranges::BlockRanges, coding::Coding, peer_repair::PeerRepair,
        stream::window::SendStream,
    },
    storage::{ObjectKey, ObjectKind},
    time::{Duration, Time},
};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use fanfare_wire::SourceBlockNumber;

/// More whole blocks, or objects to be repaired, than this let those go first of which little is
/// wanted: a late joiner has asked. Otherwise all go in order: receivers take a sender that goes back
/// and forth for one that has passed what they lack, and ask again.
pub(in crate::sender) const LONG_REPAIR: u32 = 16;

/// An object in the sender's cache.
#[derive(Debug)]
pub(in crate::sender) struct TransmitObject {
    pub(in crate::sender) key: ObjectKey,
    pub(in crate::sender) kind: ObjectKind,
    pub(in crate::sender) partition: Partition,
    /// What makes it a stream, if it is one.
    pub(in crate::sender) stream: Option<Box<SendStream>>,
    pub(in crate::sender) info: Option<Vec<u8>>,
    /// How it takes turns with others; `None`: objects without one are sent in order.
    pub(super) turn: Option<Turn>,
    /// Next block and symbol of the pass; symbols beyond the source are proactive parity.
    pub(super) cursor: (u32, u16),
    /// Blocks were never sent as a pass would: no proactive parity has gone out with them.
    pub(super) on_demand: bool,
    /// Somebody waits for it.
    pub(in crate::sender) awaited: bool,
    /// Parity of each block that goes without a request, beside what all objects have.
    more_parity: u16,
    /// Requests for all of it that were answered with its INFO, since anyone knew what to request.
    pub(super) info_answers: u8,
    pub(super) info_pending: bool,
    /// When it was taken, and how old it was then already.
    taken: (Time, Duration),
    /// Passes it has had.
    passes: u32,
    /// Whole passes still to come after this one (carousel).
    rounds: u32,
    /// The first pass ended then.
    pub(in crate::sender) sent: Option<Time>,
    /// Anything of it was sent or requested last.
    pub(in crate::sender) active: Time,
    /// The flush after its last transmission ended then.
    pub(in crate::sender) flushed: Option<Time>,
    pub(super) info_repair: bool,
    pub(super) info_helped: PeerRepair,
    pub(super) repeats: BlockRanges,
    pub(super) blocks: BTreeMap<u32, TransmitBlock>,
    pub(super) pending: BTreeSet<u32>,
}

impl TransmitObject {
    pub(in crate::sender) fn new(
        now: Time,
        key: ObjectKey,
        kind: ObjectKind,
        partition: Partition,
        info: Option<Vec<u8>>,
    ) -> Self {
        Self {
            key,
            kind,
            partition,
            stream: None,
            info_pending: info.is_some(),
            info,
            turn: None,
            taken: (now, Duration::ZERO),
            cursor: (0, 0),
            on_demand: false,
            awaited: false,
            more_parity: 0,
            info_answers: 0,
            passes: 0,
            rounds: 0,
            sent: None,
            active: now,
            flushed: None,
            info_repair: false,
            info_helped: PeerRepair::default(),
            repeats: BlockRanges::default(),
            blocks: BTreeMap::new(),
            pending: BTreeSet::new(),
        }
    }

    /// It takes turns with others.
    pub(in crate::sender) fn in_turn(self, turn: Option<Turn>) -> Self {
        Self { turn, ..self }
    }
    /// What decides whether it overtakes others, or they it.
    pub(super) fn place(&self) -> Place {
        let info = self.info.as_ref().filter(|_| self.info_pending).map_or(0, Vec::len);
        Place { turn: self.turn, left: self.bytes_left().saturating_add(info as u64) }
    }
    /// All but its INFO counts as sent: the cursor stands at the end of the pass.
    pub(in crate::sender) fn with_parity(self, more_parity: u16) -> Self {
        Self { more_parity, ..self }
    }
    /// Parity of each block that a pass sends.
    pub(super) fn proactive(&self, coding: &Coding) -> u16 {
        coding.proactive.saturating_add(self.more_parity).min(coding.parity)
    }
    /// Somebody waits for it.
    pub(in crate::sender) fn awaited(self) -> Self {
        Self { awaited: true, ..self }
    }
    pub(in crate::sender) fn on_demand(mut self) -> Self {
        self.cursor = (self.partition.blocks, 0);
        self.on_demand = true;
        self
    }

    /// All of it was sent, and flushed, in an earlier run of the process, which took it `age` ago.
    pub(in crate::sender) fn sent_before(mut self, now: Time, age: Duration) -> Self {
        self.taken = (now, age);
        self.cursor = (self.partition.blocks, 0);
        self.info_pending = false;
        (self.sent, self.flushed) = (Some(now), Some(now));
        self
    }

    /// How long ago it was handed over.
    pub(in crate::sender) fn age(&self, now: Time) -> Duration {
        let (taken, before) = self.taken;
        now.since(taken) + before
    }

    /// Whether nothing but its INFO is sent without a request.
    pub(in crate::sender) fn is_on_demand(&self) -> bool {
        self.on_demand
    }

    /// Source symbols of `block`.
    pub(in crate::sender) fn block_len(&self, block: u32) -> u16 {
        self.partition.block_len(SourceBlockNumber(block))
    }

    /// Whether a pass over the object is under way.
    pub(in crate::sender) fn has_new(&self) -> bool {
        self.info_pending || self.has_new_symbols()
    }

    fn has_new_symbols(&self) -> bool {
        match &self.stream {
            None => self.cursor.0 < self.partition.blocks,
            Some(stream) => self.has_new_of(stream),
        }
    }

    /// Its bytes, NORM_INFO among them.
    pub(in crate::sender) fn size(&self) -> u64 {
        let info = self.info.as_ref().map_or(0, Vec::len) as u64;
        match self.stream {
            Some(_) => info,
            None => self.partition.object_size + info,
        }
    }

    /// Bytes that the pass under way has yet to send.
    pub(in crate::sender) fn bytes_left(&self) -> u64 {
        let (block, symbol) = self.cursor;
        if let Some(stream) = &self.stream {
            let left = stream.written.saturating_sub(stream.index(block, symbol));
            return left * u64::from(self.partition.segment_size);
        }
        let span = self.partition.span(SourceBlockNumber(block), symbol);
        span.map_or(0, |(offset, _)| self.partition.object_size - offset)
    }

    /// Passes it has had before the one under way.
    pub(in crate::sender) fn passes(&self) -> u32 {
        self.passes
    }

    /// Whether anything of it has been sent.
    pub(in crate::sender) fn has_begun(&self) -> bool {
        let symbols = self.cursor != (0, 0) && !self.on_demand;
        self.sent.is_some() || symbols || (self.info.is_some() && !self.info_pending)
    }

    /// Whether something was requested and not sent yet.
    pub(in crate::sender) fn has_repair(&self) -> bool {
        self.info_repair || !self.pending.is_empty() || !self.repeats.is_empty()
    }

    /// One more pass, after the one under way if there is one.
    pub(in crate::sender) fn requeue(&mut self) {
        self.rounds += 1;
        self.next_round();
    }

    fn next_round(&mut self) {
        if !self.has_new() && self.rounds > 0 {
            self.rounds -= 1;
            self.passes += 1;
            self.cursor = (0, 0);
            self.info_pending = self.info.is_some();
        }
    }

    /// Takes the next part of the pass; INFO first, then each block's source and proactive parity.
    pub(in crate::sender) fn pop_new(&mut self, coding: &Coding) -> Option<Piece> {
        let purpose = if self.sent.is_some() { Purpose::Again } else { Purpose::First };
        if self.info_pending {
            self.info_pending = false;
            return Some(Piece { part: Part::Info, purpose });
        }
        let (block, symbol) = self.cursor;
        if !self.has_new_symbols() {
            return None;
        }
        let source = self.block_len(block);
        self.advance(coding);
        if symbol < source {
            return Some(Piece { part: Part::Source { block, symbol }, purpose });
        }
        let number = symbol - source;
        let part = Part::Parity { block, number, ahead: self.proactive(coding) - number };
        Some(Piece { part, purpose: Purpose::Proactive })
    }

    /// Source symbols of the pass from its cursor on, in a block that has begun and all of full
    /// length, and how many. What ends a pass is not among them.
    pub(in crate::sender) fn batch(&self, ordinal: u64) -> Option<(SymbolBatch, u16)> {
        let (block, symbol) = self.cursor;
        if self.info_pending || symbol == 0 {
            return None;
        }
        let (offset, _) = self.partition.span(SourceBlockNumber(block), symbol)?;
        let last = u16::from(block + 1 == self.partition.blocks);
        let left = match &self.stream {
            None => (self.block_len(block) - symbol) - last,
            // What ends a block goes alone: behind it the numbers jump.
            Some(stream) => {
                let left = self.block_len(block).checked_sub(symbol)?;
                stream.full_from(stream.index(block, symbol), left)
            }
        };
        let purpose = if self.sent.is_some() { Purpose::Again } else { Purpose::First };
        Some((SymbolBatch { ordinal, key: self.key, block, symbol, offset, purpose }, left))
    }

    /// The cursor moves on by a symbol.
    pub(in crate::sender) fn advance(&mut self, coding: &Coding) {
        let (block, symbol) = self.cursor;
        self.cursor = if symbol + 1 < self.block_len(block) + self.proactive(coding) {
            (block, symbol + 1)
        } else {
            (block + 1, 0)
        };
    }

    /// A part has gone out. True when it was the last of the first pass.
    pub(in crate::sender) fn on_sent(&mut self, now: Time) -> bool {
        self.active = now;
        self.flushed = None;
        if self.has_new() || self.stream.as_ref().is_some_and(|stream| !stream.ended) {
            return false;
        }
        let first = self.sent.is_none();
        self.sent.get_or_insert(now);
        self.next_round();
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::{
        block::BlockDemand, coding::tests::coding, demand::ObjectDemand,
        objects::repairs::INFO_ANSWERS_MAX,
    };
    use fanfare_wire::{InstanceId, NodeId, ObjectTransportId};

    fn object(size: u64, info: Option<Vec<u8>>) -> TransmitObject {
        let object = ObjectTransportId(0);
        let key = ObjectKey { sender: NodeId(1), instance: InstanceId(1), object };
        let partition = Partition::new(size, 10, 4, 1 << 24).unwrap();
        TransmitObject::new(Time::ZERO, key, ObjectKind::Data, partition, info)
    }

    fn pass(object: &mut TransmitObject, coding: &Coding) -> Vec<Part> {
        let parts = core::iter::from_fn(|| object.pop_new(coding).map(|p| p.part)).collect();
        object.on_sent(Time::ZERO);
        parts
    }

    fn repairs(object: &mut TransmitObject, coding: &Coding) -> Vec<Part> {
        core::iter::from_fn(|| object.pop_repair(coding).map(|p| p.part)).collect()
    }

    #[test]
    fn a_pass_sends_info_then_source_then_proactive_parity_of_each_block() {
        let coding = coding(4, 2, 1);
        let mut object = object(45, Some(Vec::new()));
        let parts = pass(&mut object, &coding);
        assert_eq!(parts[0], Part::Info);
        assert_eq!(parts[1], Part::Source { block: 0, symbol: 0 });
        assert_eq!(parts[4], Part::Parity { block: 0, number: 0, ahead: 1 });
        assert_eq!(parts[5], Part::Source { block: 1, symbol: 0 });
        assert_eq!(parts.len(), 1 + 5 + 2);
    }

    #[test]
    fn an_object_may_have_more_parity_than_others_but_no_more_than_there_is() {
        let coding = coding(4, 2, 1);
        let sent = |more| pass(&mut object(45, None).with_parity(more), &coding);
        assert_eq!((sent(0).len(), sent(1).len(), sent(9).len()), (5 + 2, 5 + 4, 5 + 4));
        assert_eq!(sent(1)[4], Part::Parity { block: 0, number: 1, ahead: 1 });
    }

    #[test]
    fn a_whole_object_is_repeated_only_as_far_as_it_was_sent() {
        let coding = coding(4, 2, 0);
        let mut object = object(80, None);
        for _ in 0..5 {
            object.pop_new(&coding);
        }
        object.demand(&ObjectDemand { whole: true, info: true, ..Default::default() }, &coding);
        let parts = repairs(&mut object, &coding);
        assert_eq!(parts.len(), 5);
        assert_eq!(parts[4], Part::Source { block: 1, symbol: 0 });
    }

    #[test]
    fn whole_blocks_count_as_asked_again_only_as_far_as_they_were_sent() {
        let coding = coding(4, 2, 0);
        let mut object = object(75, None);
        let mut wanted = ObjectDemand::default();
        wanted.blocks.insert(0, 2);
        wanted.symbols.insert(1, BlockDemand::named(0..2));
        let whole = ObjectDemand { whole: true, ..Default::default() };
        assert_eq!((object.asked_again(&wanted), object.asked_again(&whole)), (0, 0));
        (0..5).for_each(|_| assert!(object.pop_new(&coding).is_some()));
        assert_eq!((object.asked_again(&wanted), object.asked_again(&whole)), (40, 40));
        pass(&mut object, &coding);
        assert_eq!((object.asked_again(&wanted), object.asked_again(&whole)), (75, 75));
        wanted.symbols.insert(0, BlockDemand::named(0..3));
        assert_eq!(object.asked_again(&wanted), 75 + 30, "three of four are most");
        object.strip_again(&mut wanted);
        assert_eq!(wanted.symbols.keys().collect::<Vec<_>>(), [&1]);
        assert_eq!(object.on_demand().asked_again(&whole), 0);
    }

    #[test]
    fn the_lowest_block_is_repaired_first() {
        let coding = coding(4, 2, 0);
        let mut object = object(120, None);
        pass(&mut object, &coding);
        let mut demand = ObjectDemand::default();
        demand.blocks.insert(1, 2);
        demand.symbols.insert(2, BlockDemand::named(1..2));
        demand.symbols.insert(0, BlockDemand::named(3..4));
        object.demand(&demand, &coding);
        let blocks: Vec<u32> = repairs(&mut object, &coding)
            .into_iter()
            .map(|part| match part {
                Part::Source { block, .. } | Part::Parity { block, .. } => block,
                Part::Info => panic!("no info was asked for"),
            })
            .collect();
        assert_eq!(blocks, [0, 1, 1, 1, 1, 2]);
    }

    #[test]
    fn a_receiver_that_lacks_little_does_not_wait_for_a_late_joiner() {
        let coding = coding(4, 2, 0);
        let mut object = object(1200, None);
        pass(&mut object, &coding);
        let mut demand = ObjectDemand::default();
        demand.blocks.insert(0, 20);
        demand.symbols.insert(25, BlockDemand::named(1..2));
        object.demand(&demand, &coding);
        let parts = repairs(&mut object, &coding);
        assert_eq!(parts[0], Part::Parity { block: 25, number: 0, ahead: 1 });
        assert_eq!((parts[1], parts.len()), (Part::Source { block: 0, symbol: 0 }, 81));
    }

    #[test]
    fn an_object_on_demand_sends_its_info_and_then_what_is_requested() {
        let coding = coding(4, 2, 1);
        let mut object = object(80, Some(Vec::new())).on_demand();
        assert!(object.has_new() && !object.has_begun());
        assert_eq!(object.pop_new(&coding).unwrap().part, Part::Info);
        assert!(object.on_sent(Time::ZERO) && !object.has_new() && object.has_begun());
        let mut demand = ObjectDemand::default();
        demand.blocks.insert(1, 2);
        demand.symbols.insert(0, BlockDemand::named(4..5));
        object.demand(&demand, &coding);
        let parts = repairs(&mut object, &coding);
        assert_eq!(parts[0], Part::Parity { block: 0, number: 0, ahead: 1 });
        assert_eq!(parts[1], Part::Source { block: 1, symbol: 0 });
        assert_eq!(parts.len(), 1 + 4);
    }

    #[test]
    fn requests_for_all_of_an_object_on_demand_get_its_info_a_limited_number_of_times() {
        let coding = coding(4, 2, 0);
        let mut object = object(80, Some(Vec::new())).on_demand();
        pass(&mut object, &coding);
        let all = ObjectDemand { whole: true, info: true, ..Default::default() };
        for _ in 0..INFO_ANSWERS_MAX {
            object.demand(&all, &coding);
            assert_eq!(repairs(&mut object, &coding), [Part::Info]);
        }
        object.demand(&all, &coding);
        assert_eq!(repairs(&mut object, &coding).len(), 1 + 8);
    }

    #[test]
    fn a_requeued_object_goes_out_once_more_with_its_info() {
        let coding = coding(4, 2, 0);
        let mut object = object(45, Some(Vec::new()));
        let first = pass(&mut object, &coding);
        object.requeue();
        assert_eq!(pass(&mut object, &coding), first);
        assert!(!object.has_new());
    }
}
