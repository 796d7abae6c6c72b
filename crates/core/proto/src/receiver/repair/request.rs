//! Encodes missing symbols as the repair requests of one NACK (RFC 5740 4.3.1, 5.3).

use crate::receiver::{
    block::ReceiveBlock, format::Format, needs::Need, object::ReceiveObject, position::ObjectIndex,
    suppression::Suppression,
};
use alloc::vec::Vec;
use fanfare_wire::{
    EncodingSymbolId, FecId, FecPayloadId, FieldSize, RepairLevel, SourceBlockNumber,
    nack::RequestWriter,
};

/// Room for requests while the segment size is unknown, as NRL.
const ROOM_UNKNOWN: usize = 40;

/// A NACK that tells all has room for as many times the requests of another: who shortens it takes out what need
/// not be requested, which others are told in an eighth of the bytes.
const IN_FULL: usize = 8;

/// How a sender codes, as last heard: what requests need to name things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coding {
    pub(crate) fec_id: FecId,
    pub(crate) field: FieldSize,
    /// Bytes of a segment, once EXT_FTI told it.
    pub(crate) segment_size: Option<u16>,
    /// Symbols of a full block, likewise: encoding id 129 wants it in requests above symbols.
    pub(crate) max_block_len: u16,
    /// What is requested in the place of a missing source symbol.
    pub(crate) explicit: ExplicitRepair,
    /// All that is missing is told, in more than one segment if need be.
    pub(crate) in_full: bool,
}

/// Which missing source symbols are requested by name, not by parity in their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExplicitRepair {
    /// None: one parity symbol serves many.
    Parity,
    /// Those of blocks that lack few: the sender is fast, and parity would have to be decoded.
    Few,
    /// All: who answers has no parity.
    All,
}

/// Of a block so many are few: with more, one parity symbol serves many.
const FEW: u16 = 2;

impl ExplicitRepair {
    /// Whether this block's symbols are requested by name because they are few.
    pub(crate) fn names_few(self, state: &ReceiveBlock) -> bool {
        self == Self::Few && state.erasures() <= FEW && state.parity_count() == 0
    }
}

impl Coding {
    pub(crate) fn of(format: &Format) -> Self {
        Self {
            fec_id: format.fec_id,
            field: format.fti.field,
            segment_size: Some(format.fti.segment_size),
            max_block_len: format.fti.max_block_len,
            explicit: ExplicitRepair::Parity,
            in_full: false,
        }
    }
    /// With nothing but the encoding id known. NRL's receivers take GF(2^16) for id 2 then.
    pub(crate) fn unknown(fec_id: FecId) -> Self {
        let field = match fec_id {
            FecId::ReedSolomonM => FieldSize::M16,
            FecId::ReedSolomon8 | FecId::SmallBlockSystematic => FieldSize::M8,
        };
        let (segment_size, max_block_len) = (None, 0);
        Self {
            fec_id,
            field,
            segment_size,
            max_block_len,
            explicit: ExplicitRepair::Parity,
            in_full: false,
        }
    }
    /// Bytes that the requests of one NACK may have: more is left for the next cycle.
    fn room(&self) -> usize {
        let segment = self.segment_size.map_or(0, usize::from).max(ROOM_UNKNOWN);
        segment * if self.in_full { IN_FULL } else { 1 }
    }
    fn whole(&self, block: u32) -> FecPayloadId {
        let block_len = match self.fec_id {
            FecId::SmallBlockSystematic => self.max_block_len,
            FecId::ReedSolomonM | FecId::ReedSolomon8 => 0,
        };
        FecPayloadId { block: SourceBlockNumber(block), block_len, symbol: EncodingSymbolId(0) }
    }
}

/// Encodes `needs` that `suppression` does not cover, lowest first, until one NACK is full. Needs of
/// an object coded otherwise than `coding` end it: they come first in a later NACK.
pub(crate) fn encode<'a>(
    coding: Coding,
    suppression: &Suppression,
    needs: impl Iterator<Item = Need<'a>>,
) -> Vec<u8> {
    let mut writer = RequestWriter::new(coding.fec_id, coding.field, coding.room());
    let mut writing = Writing { coding, suppression, writer: &mut writer, infos: None };
    for need in needs {
        if !writing.need(&need) {
            break;
        }
    }
    writing.end_infos();
    writer.finish()
}

struct Writing<'a> {
    coding: Coding,
    suppression: &'a Suppression,
    writer: &'a mut RequestWriter,
    /// Objects (first, last) of which the INFO alone is missing, not yet written: of many short messages in a row
    /// one range says it.
    infos: Option<(ObjectIndex, ObjectIndex)>,
}

impl Writing<'_> {
    /// False when no more fits.
    fn need(&mut self, need: &Need<'_>) -> bool {
        if !matches!(need, Need::Info { .. }) && !self.end_infos() {
            return false;
        }
        match *need {
            Need::Objects { first, last } => {
                let suppression = self.suppression;
                suppression.objects_left(first, last).all(|(first, last)| self.objects(first, last))
            }
            Need::Info { object } => self.suppression.has_info(object) || self.info(object),
            Need::Blocks { object, open, first, last } => {
                let suppression = self.suppression;
                self.same_coding(open)
                    && suppression
                        .blocks_left(object, first, last)
                        .all(|(first, last)| self.blocks(object, first, last))
            }
            Need::Symbols { open, .. } | Need::Names { open, .. } if !self.same_coding(open) => {
                false
            }
            Need::Names { .. } if self.suppression.covers(need, self.coding.explicit) => true,
            Need::Names { object, open, block, ref runs } => {
                runs.iter().all(|&run| self.symbols(object, open.format(), block, run))
            }
            Need::Symbols { .. } if self.suppression.covers(need, self.coding.explicit) => true,
            Need::Symbols { object, open, block, state } => {
                let explicit = self.coding.explicit;
                let named = explicit == ExplicitRepair::All || explicit.names_few(state);
                let wanted = wanted(state, if named { 0 } else { open.format().parity });
                wanted.iter().all(|&run| self.symbols(object, open.format(), block, run))
            }
        }
    }

    fn same_coding(&self, open: &ReceiveObject) -> bool {
        let format = open.format();
        (format.fec_id, format.fti.field) == (self.coding.fec_id, self.coding.field)
    }

    fn info(&mut self, object: ObjectIndex) -> bool {
        if let Some((first, last)) = self.infos
            && last.next() == object
        {
            self.infos = Some((first, object));
            return true;
        }
        let fits = self.end_infos();
        self.infos = Some((object, object));
        fits
    }

    /// Writes what has been gathered.
    fn end_infos(&mut self) -> bool {
        let infos = self.infos.take();
        infos.is_none_or(|(first, last)| self.whole_objects(RepairLevel::INFO, first, last))
    }

    fn objects(&mut self, first: ObjectIndex, last: ObjectIndex) -> bool {
        self.whole_objects(RepairLevel::OBJECT, first, last)
    }

    fn whole_objects(&mut self, level: u8, first: ObjectIndex, last: ObjectIndex) -> bool {
        let (level, whole) = (RepairLevel(level), self.coding.whole(0));
        if last.0 - first.0 >= 2 {
            return self.writer.range(level, (first.id(), last.id()), whole, whole);
        }
        (first.0..=last.0).all(|object| self.writer.item(level, ObjectIndex(object).id(), whole))
    }

    fn blocks(&mut self, object: ObjectIndex, first: u32, last: u32) -> bool {
        let level = RepairLevel(RepairLevel::BLOCK);
        let id = object.id();
        if last - first >= 2 {
            let (first, last) = (self.coding.whole(first), self.coding.whole(last));
            return self.writer.range(level, (id, id), first, last);
        }
        (first..=last).all(|block| self.writer.item(level, id, self.coding.whole(block)))
    }

    fn symbols(
        &mut self,
        object: ObjectIndex,
        format: &Format,
        block: u32,
        (first, last): (u16, u16),
    ) -> bool {
        let (level, id) = (RepairLevel(RepairLevel::SEGMENT), object.id());
        if last - first >= 2 {
            let (first, last) = (format.name(block, first), format.name(block, last));
            return self.writer.range(level, (id, id), first, last);
        }
        (first..=last).all(|symbol| self.writer.item(level, id, format.name(block, symbol)))
    }
}

/// The symbols (runs: first, last) to ask of a block: as many parity symbols as are missing, lowest
/// first; when there are not so many, all of them and the highest missing source symbols. All
/// receivers that lack as many request the same then (RFC 5740 5.3). Never beyond the block's last
/// parity symbol: NRL's sender does not survive that.
pub(crate) fn wanted(state: &ReceiveBlock, parity: u16) -> Vec<(u16, u16)> {
    let erasures = usize::from(state.erasures());
    let unasked = (0..parity).filter(|&number| !state.has_parity(number));
    let parity: Vec<u16> =
        unasked.take(erasures).map(|number| state.len().saturating_add(number)).collect();
    let mut sources: Vec<u16> =
        state.missing_sources().rev().take(erasures - parity.len()).collect();
    sources.reverse();
    sources.extend(parity);
    sources
        .chunk_by(|a, b| a + 1 == *b)
        .filter_map(|run| Some((*run.first()?, *run.last()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::RepairRequests;

    #[test]
    fn infos_of_consecutive_objects_are_requested_as_one_range() {
        let object = |n| ObjectIndex(0x1_0000 + n);
        let of = |infos: &[u64], room| {
            let coding =
                Coding { segment_size: Some(room), ..Coding::unknown(FecId::ReedSolomon8) };
            let needs = infos.iter().map(|n| Need::Info { object: object(*n) });
            encode(coding, &Suppression::default(), needs)
        };
        let asked = |bytes: &[u8]| -> Vec<(u16, u16)> {
            let requests = RepairRequests::parse(bytes).unwrap();
            let ranges = requests.iter().flat_map(|request| {
                assert_eq!(request.level.0, RepairLevel::INFO);
                request.ranges().collect::<Vec<_>>()
            });
            ranges.map(|(a, b)| (a.object_transport_id.0, b.object_transport_id.0)).collect()
        };
        let many: Vec<u64> = (0..2000).collect();
        assert_eq!(asked(&of(&many, 400)), [(0, 1999)]);
        assert_eq!(
            asked(&of(&[1, 2, 5, 7, 8, 9, 12], 400)),
            [(1, 1), (2, 2), (5, 5), (7, 9), (12, 12)]
        );
        let odd: Vec<u64> = (0..400).map(|n| n * 2).collect();
        let bytes = of(&odd, 400);
        assert!(
            bytes.len() <= 400 && asked(&bytes).len() > 40,
            "what does not fit is left for later"
        );
    }

    fn block(len: u16, lost: &[u16]) -> ReceiveBlock {
        let mut block = ReceiveBlock::new(len);
        (0..len).filter(|s| !lost.contains(s)).for_each(|symbol| block.set_source(symbol));
        block
    }

    #[test]
    fn as_many_parity_symbols_are_requested_as_are_missing() {
        assert_eq!(wanted(&block(16, &[3]), 4), [(16, 16)]);
        assert_eq!(wanted(&block(10, &[0, 5, 9]), 4), [(10, 12)]);
    }

    #[test]
    fn a_few_symbols_of_a_fast_sender_are_requested_explicitly_and_more_as_parity() {
        let few = |lost: &[u16]| ExplicitRepair::Few.names_few(&block(16, lost));
        assert!(few(&[3]) && few(&[3, 9]) && !few(&[3, 9, 10]));
        assert!(!ExplicitRepair::Parity.names_few(&block(16, &[3])));
        let mut with_parity = block(16, &[3, 9]);
        with_parity.add_parity(0, b"parity");
        assert!(!ExplicitRepair::Few.names_few(&with_parity), "it is decoded anyway");
    }

    #[test]
    fn parity_that_has_arrived_is_not_requested_again() {
        let mut block = block(16, &[1, 2, 3]);
        block.add_parity(1, b"parity");
        assert_eq!(wanted(&block, 4), [(16, 16), (18, 18)]);
    }

    #[test]
    fn beyond_parity_the_highest_missing_source_symbols_are_requested_too() {
        assert_eq!(wanted(&block(16, &[1, 4, 6, 8, 12, 13, 14]), 4), [(12, 14), (16, 19)]);
    }

    #[test]
    fn without_parity_all_missing_source_symbols_are_requested() {
        assert_eq!(wanted(&block(16, &[1, 4, 5]), 0), [(1, 1), (4, 5)]);
    }
}
