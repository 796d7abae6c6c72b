//! CMD(REPAIR_ADV): tells the group what was requested by unicast, so that other receivers need not
//! request it (RFC 5740 5.4.4).

use crate::{
    sender::{
        block::BlockDemand,
        block_ranges::BlockRanges,
        coding::Coding,
        demand::{Demand, ObjectDemand},
    },
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::{
    EncodingSymbolId, FecPayloadId, ObjectTransportId, RepairLevel, SourceBlockNumber,
    nack::RequestWriter,
};

/// Runs of this many consecutive items travel as a range (NRL's rule).
const RUN_AS_RANGE: usize = 3;

/// When to advertise.
#[derive(Debug, Default)]
pub(in crate::sender) struct RepairAdvert {
    due: bool,
    next: Option<Time>,
}

impl RepairAdvert {
    /// A NACK came by unicast.
    pub(in crate::sender) fn on_unicast_nack(&mut self) {
        self.due = true;
    }

    /// When the next message is due, while requests are being collected.
    pub(in crate::sender) fn due_at(&self) -> Option<Time> {
        self.due.then_some(self.next.unwrap_or(Time::ZERO))
    }

    /// A message goes out. The next not within half a GRTT: requests that come meanwhile go
    /// together, still well within the aggregation period.
    pub(in crate::sender) fn on_sent(&mut self, now: Time, grtt: Duration) {
        self.due = false;
        self.next = Some(now + grtt / 2);
    }

    /// Collection has ended: repairs say the rest.
    pub(in crate::sender) fn on_activation(&mut self) {
        self.due = false;
    }
}

/// Encoded requests, and whether all of the demand found room.
pub(in crate::sender) fn encode(demand: &Demand, coding: &Coding, bound: usize) -> (Vec<u8>, bool) {
    let mut writer = RequestWriter::new(coding.fec_id, coding.field, bound);
    let complete = demand
        .objects
        .iter()
        .all(|(ordinal, wanted)| object(&mut writer, ObjectTransportId(*ordinal as u16), wanted));
    (writer.finish(), complete)
}

fn object(writer: &mut RequestWriter, object: ObjectTransportId, wanted: &ObjectDemand) -> bool {
    let info = if wanted.info { RepairLevel::INFO } else { 0 };
    if wanted.whole {
        return writer.item(RepairLevel(RepairLevel::OBJECT | info), object, id(0, 0));
    }
    let alone = wanted.blocks.is_empty() && wanted.symbols.is_empty();
    if alone {
        return writer.item(RepairLevel(info), object, id(0, 0));
    }
    blocks(writer, object, RepairLevel(RepairLevel::BLOCK | info), &wanted.blocks)
        && wanted.symbols.iter().all(|(block, wanted)| {
            symbols(writer, object, RepairLevel(RepairLevel::SEGMENT | info), *block, wanted)
        })
}

fn blocks(
    writer: &mut RequestWriter,
    object: ObjectTransportId,
    level: RepairLevel,
    ranges: &BlockRanges,
) -> bool {
    ranges.iter().all(|(first, end)| match end - first {
        1 => writer.item(level, object, id(first, 0)),
        _ => writer.range(level, (object, object), id(first, 0), id(end - 1, 0)),
    })
}

fn symbols(
    writer: &mut RequestWriter,
    object: ObjectTransportId,
    level: RepairLevel,
    block: u32,
    wanted: &BlockDemand,
) -> bool {
    let named: Vec<u16> = wanted.named.iter().copied().collect();
    named.chunk_by(|a, b| a + 1 == *b).all(|run| {
        if run.len() < RUN_AS_RANGE {
            return run.iter().all(|symbol| writer.item(level, object, id(block, *symbol)));
        }
        let (first, last) = (run[0], run[run.len() - 1]);
        writer.range(level, (object, object), id(block, first), id(block, last))
    })
}

fn id(block: u32, symbol: u16) -> FecPayloadId {
    let (block, symbol) = (SourceBlockNumber(block), EncodingSymbolId(symbol));
    FecPayloadId { block, block_len: 0, symbol }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::coding::tests::coding;

    #[test]
    fn adverts_are_at_least_half_a_grtt_apart() {
        let grtt = Duration::from_millis(10);
        let mut repair_adv = RepairAdvert::default();
        assert_eq!(repair_adv.due_at(), None);
        repair_adv.on_unicast_nack();
        assert_eq!(repair_adv.due_at(), Some(Time::ZERO));
        repair_adv.on_sent(Time::ZERO, grtt);
        repair_adv.on_unicast_nack();
        assert_eq!(repair_adv.due_at(), Some(Time::ZERO + grtt / 2));
        repair_adv.on_activation();
        assert_eq!(repair_adv.due_at(), None);
    }

    #[test]
    fn an_advert_says_when_its_content_was_cut() {
        let mut wanted = ObjectDemand::default();
        for block in 0..100 {
            wanted.symbols.insert(block, BlockDemand::named(0..5));
        }
        let demand = Demand { objects: [(0, wanted)].into() };
        let coding = coding(10, 5, 0);
        let (bytes, complete) = encode(&demand, &coding, 200);
        assert!(!complete && !bytes.is_empty() && bytes.len() <= 200);
        assert!(encode(&demand, &coding, 4000).1);
    }
}
