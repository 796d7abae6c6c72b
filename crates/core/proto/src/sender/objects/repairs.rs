//! What must be sent again of an object: what was requested, and what of that goes next.

use crate::{
    sender::{
        block::{BlockDemand, TransmitBlock},
        coding::Coding,
        demand::ObjectDemand,
        object::{LONG_REPAIR, TransmitObject},
        piece::{Part, Piece, Purpose},
    },
    time::Time,
};

/// Blocks that remember which parity was used. One that is forgotten begins with its first parity
/// again: a wasted repair round, not a loss.
const BLOCKS_REMEMBERED: usize = 1 << 18;

/// Requests for all of an object on demand that are answered with its INFO alone. Who asks so has
/// mostly just missed the INFO, and requests what it lacks once it knows the object; sending all
/// would undo what the object is on demand for. A receiver that still does not know it after so
/// many INFOs gets all.
pub(super) const INFO_ANSWERS_MAX: u8 = 5;

impl TransmitObject {
    /// Whether so many whole blocks are wanted that nobody who lacks little shall wait for them.
    pub(in crate::sender) fn has_long_repair(&self) -> bool {
        self.repeats.exceeds(LONG_REPAIR)
    }

    /// Whether symbols of blocks were requested, or INFO.
    pub(in crate::sender) fn has_urgent_repair(&self) -> bool {
        self.info_repair || !self.pending.is_empty()
    }

    /// Whether its NORM_INFO is wanted, and is all that it has.
    pub(in crate::sender) fn repairs_info_alone(&self) -> bool {
        self.info_repair && self.partition.object_size == 0
    }

    /// It is wanted.
    pub(in crate::sender) fn repair_info(&mut self) {
        self.info_repair |= self.info.is_some() && !self.info_pending;
    }

    /// Another node says it while it waits, or requests for it are gathered: whether it need not be said from here.
    pub(in crate::sender) fn on_info_repaired(&mut self, gathered: bool) -> bool {
        let believed = (gathered || self.info_repair) && self.info_helped.on_repaired();
        self.info_repair &= !believed;
        believed
    }

    /// That has gone out, in other words.
    pub(in crate::sender) fn on_info_said(&mut self, now: Time) {
        self.info_repair = false;
        self.on_sent(now);
    }

    /// Takes over what was requested. Parts that the pass has yet to reach need no repair.
    pub(in crate::sender) fn demand(&mut self, demand: &ObjectDemand, coding: &Coding) {
        self.info_helped.on_demand();
        if demand.info {
            self.repair_info();
        }
        if demand.whole && !self.info_suffices(demand) {
            self.repeat(self.low(), self.partition.blocks, coding);
        }
        for (first, end) in demand.blocks.iter() {
            self.repeat(first, end, coding);
        }
        // It is active since it was requested.
        let active = self.active;
        for block in demand.symbols.keys() {
            if let Some(stream) = &mut self.stream {
                stream.on_request(active, *block);
            }
            self.touch(active, *block);
        }
        for (block, wanted) in &demand.symbols {
            if *block <= self.cursor.0 && !self.repeats.contains(*block) {
                self.demand_block(*block, wanted, coding);
            }
        }
    }

    /// Takes over what is sent without a request at the end of the pass: of blocks that nobody has requested.
    pub(in crate::sender) fn demand_tail(&mut self, tail: &ObjectDemand, coding: &Coding) {
        for (block, wanted) in &tail.symbols {
            if !self.blocks.contains_key(block) {
                self.demand_block(*block, wanted, coding);
            }
        }
    }

    /// Takes over what goes without a request while nothing else is to be sent: of a block that nobody
    /// has requested. Whether there is something.
    pub(in crate::sender) fn cover(
        &mut self,
        block: u32,
        wanted: &BlockDemand,
        coding: &Coding,
    ) -> bool {
        if self.blocks.contains_key(&block) {
            return false;
        }
        match wanted.named.is_empty() {
            true => self.demand_block(block, wanted, coding),
            false => {
                self.block(block, coding).repeat(wanted);
                self.pending.insert(block);
            }
        }
        self.pending.contains(&block)
    }

    /// Whether a request for all of it is answered with its INFO ([`INFO_ANSWERS_MAX`]).
    fn info_suffices(&mut self, demand: &ObjectDemand) -> bool {
        if !demand.blocks.is_empty() || !demand.symbols.is_empty() {
            self.info_answers = 0;
        }
        let suffices = self.on_demand && self.info_answers < INFO_ANSWERS_MAX;
        self.info_answers += u8::from(suffices);
        suffices
    }

    /// Source symbols of the blocks `first..end` once more, as far as they were sent.
    fn repeat(&mut self, first: u32, end: u32, coding: &Coding) {
        let (block, symbol) = self.cursor;
        self.repeats.insert(first.max(self.low()), end.min(block));
        if (first..end).contains(&block) && symbol > 0 {
            let sent = symbol.min(self.block_len(block));
            let wanted = BlockDemand::named(0..sent);
            self.block(block, coding).repeat(&wanted);
            self.pending.insert(block);
        }
    }

    fn demand_block(&mut self, block: u32, wanted: &BlockDemand, coding: &Coding) {
        if self.demand_unfinished(block, wanted, coding) {
            return;
        }
        let source = self.block_len(block);
        let state = self.block(block, coding);
        state.demand(wanted, source, coding.parity);
        if state.has_pending() {
            self.pending.insert(block);
        }
    }

    /// Another node repairs a block: whether that serves in the place of what was requested.
    pub(in crate::sender) fn on_repaired(
        &mut self,
        block: u32,
        symbol: Option<u16>,
        coding: &Coding,
    ) -> bool {
        if block >= self.partition.blocks {
            return false;
        }
        let state = self.block(block, coding);
        let serves = state.on_repaired(symbol);
        if !state.has_pending() {
            self.pending.remove(&block);
        }
        serves
    }

    pub(super) fn block(&mut self, block: u32, coding: &Coding) -> &mut TransmitBlock {
        if self.blocks.len() >= BLOCKS_REMEMBERED && !self.blocks.contains_key(&block) {
            let idle = self.blocks.keys().find(|b| !self.pending.contains(b)).copied();
            if let Some(idle) = idle {
                self.blocks.remove(&idle);
            }
        }
        let proactive = if self.on_demand { 0 } else { self.proactive(coding) };
        self.blocks.entry(block).or_insert_with(|| TransmitBlock::new(proactive))
    }

    /// Takes the lowest part that was requested; where many whole blocks are wanted, of blocks of
    /// which little is wanted first.
    pub(in crate::sender) fn pop_repair(&mut self, coding: &Coding) -> Option<Piece> {
        if self.info_repair {
            self.info_repair = false;
            return Some(Piece { part: Part::Info, purpose: Purpose::Explicit });
        }
        let lowest = self.pending.first().copied();
        if let Some(first) = self.repeats.first()
            && lowest.is_none_or(|l| first <= l && !self.has_long_repair())
        {
            self.repeats.remove_first();
            let source = self.block_len(first);
            self.block(first, coding).repeat(&BlockDemand::named(0..source));
            self.pending.insert(first);
        }
        let block = self.pending.first().copied()?;
        let source = self.block_len(block);
        let state = self.block(block, coding);
        let piece = state.pop(block, source);
        if !state.has_pending() {
            self.pending.remove(&block);
        }
        piece
    }
}
