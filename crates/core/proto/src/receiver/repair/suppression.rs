//! NACK suppression: remembers what others have requested during our backoff (RFC 5740 5.3, RFC
//! 5401 3.2.3).

use crate::receiver::{
    needs::Need,
    position::{ObjectIndex, Position},
    request::ExplicitRepair,
    runs::RunSet,
};
use alloc::collections::BTreeMap;
use fanfare_wire::{FieldSize, RepairForm, RepairItem, RepairLevel, RepairRequest, RepairRequests};

/// Items heeded in one message, and things remembered in one back-off. What is beyond is not
/// remembered: then we speak ourselves.
const ITEMS_MAX: usize = 64;
const ENTRIES_MAX: usize = 1024;

/// Repair requests of others.
#[derive(Debug, Default)]
pub(crate) struct Suppression {
    objects: RunSet,
    infos: RunSet,
    blocks: BTreeMap<ObjectIndex, RunSet>,
    symbols: BTreeMap<(ObjectIndex, u32), Asked>,
    /// What lies behind is to be taken as requested.
    limit: Option<Position>,
    messages: u32,
    entries: usize,
}

/// What was asked of one block.
#[derive(Debug, Default)]
struct Asked {
    ids: RunSet,
    /// The message that `count` belongs to.
    message: u32,
    count: u64,
    /// Most symbols asked in one message.
    most: u64,
}

impl Suppression {
    /// A new back-off begins.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// A NACK or REPAIR_ADV was heard; `near` is an object close to those it may name. When it was
    /// `cut` to fit, what lies behind its last item counts as requested (RFC 5740 5.4.4).
    pub(crate) fn hear(
        &mut self,
        near: ObjectIndex,
        field: FieldSize,
        requests: &RepairRequests<'_>,
        cut: bool,
    ) {
        if cut {
            self.limit = self.limit.max(end_of(near, field, requests));
        }
        self.messages += 1;
        let mut items = 0;
        for request in requests.iter() {
            items += self.request(near, field, &request, ITEMS_MAX.saturating_sub(items));
            if items >= ITEMS_MAX || self.entries >= ENTRIES_MAX {
                return;
            }
        }
    }

    /// The end of what is still to be requested, when others' requests are known only in part.
    pub(crate) fn limit(&self) -> Option<Position> {
        self.limit
    }

    fn request(
        &mut self,
        near: ObjectIndex,
        field: FieldSize,
        request: &RepairRequest<'_>,
        max: usize,
    ) -> usize {
        let mut items = request.iter().take(max);
        let mut count = 0;
        while let Some(first) = items.next() {
            count += 1;
            let last = match request.form {
                RepairForm::Items => first,
                RepairForm::Ranges => match items.next() {
                    Some(last) => last,
                    None => break,
                },
                // Counts instead of names: NRL's nodes do not send them, nor do ours.
                RepairForm::Erasures => break,
            };
            self.note(near, field, request.level, &first, &last);
        }
        count
    }

    fn note(
        &mut self,
        near: ObjectIndex,
        field: FieldSize,
        level: RepairLevel,
        first: &RepairItem,
        last: &RepairItem,
    ) {
        self.entries += 1;
        let objects =
            (near.nearest(first.object_transport_id), near.nearest(last.object_transport_id));
        let (a, b) = (first.id(field), last.id(field));
        if level.has(RepairLevel::INFO) {
            self.infos.insert(objects.0.0, objects.1.next().0);
        }
        if level.has(RepairLevel::SEGMENT) {
            let asked = self.symbols.entry((objects.0, a.block.0)).or_default();
            asked.note(self.messages, u64::from(a.symbol.0), u64::from(b.symbol.0) + 1);
        } else if level.has(RepairLevel::BLOCK) {
            let blocks = self.blocks.entry(objects.0).or_default();
            blocks.insert(u64::from(a.block.0), u64::from(b.block.0) + 1);
        } else if level.has(RepairLevel::OBJECT) {
            self.objects.insert(objects.0.0, objects.1.next().0);
        }
    }

    /// The parts (first, last) of a run of objects that nobody has requested.
    pub(crate) fn objects_left(
        &self,
        first: ObjectIndex,
        last: ObjectIndex,
    ) -> impl Iterator<Item = (ObjectIndex, ObjectIndex)> + '_ {
        let gaps = self.objects.gaps(first.0, last.next().0);
        gaps.map(|(first, end)| (ObjectIndex(first), ObjectIndex(end - 1)))
    }

    /// Whether somebody has requested the INFO of `object`.
    pub(crate) fn has_info(&self, object: ObjectIndex) -> bool {
        self.infos.contains(object.0) || self.objects.contains(object.0)
    }

    /// The parts (first, last) of a run of blocks that nobody has requested.
    pub(crate) fn blocks_left(
        &self,
        object: ObjectIndex,
        first: u32,
        last: u32,
    ) -> impl Iterator<Item = (u32, u32)> + '_ {
        let end = if self.objects.contains(object.0) { 0 } else { u64::from(last) + 1 };
        let first = u64::from(first);
        let asked = self.blocks.get(&object);
        let gaps = asked.into_iter().flat_map(move |asked| asked.gaps(first, end));
        let whole = (asked.is_none() && first < end).then_some((first, end));
        whole.into_iter().chain(gaps).map(|(first, end)| (first as u32, (end - 1) as u32))
    }

    /// Whether what others asked of a block serves one that lacks `erasures` symbols and would ask
    /// for `wanted`: the same symbols, or as many, when the sender still has `fresh` parity to
    /// answer with (it answers by count then, RFC 5740 5.4.2). Requests for the whole block do not
    /// count: they are those of a late joiner, which the sender may put off.
    pub(crate) fn has_symbols(
        &self,
        object: ObjectIndex,
        block: u32,
        erasures: u16,
        fresh: bool,
        wanted: &[(u16, u16)],
    ) -> bool {
        let Some(asked) = self.symbols.get(&(object, block)) else { return false };
        let same = wanted.iter().all(|&(first, last)| {
            asked.ids.gaps(u64::from(first), u64::from(last) + 1).next().is_none()
        });
        same || fresh && asked.most >= u64::from(erasures)
    }

    /// Whether everything in `need` was requested, by whom it would be requested as `explicit_repair` says.
    pub(crate) fn covers(&self, need: &Need<'_>, explicit: ExplicitRepair) -> bool {
        match *need {
            Need::Objects { first, last } => self.objects_left(first, last).next().is_none(),
            Need::Info { object } => self.has_info(object),
            Need::Blocks { object, first, last, .. } => {
                self.blocks_left(object, first, last).next().is_none()
            }
            Need::Names { object, block, ref runs, .. } => {
                let count = runs.iter().map(|(first, last)| last - first + 1).sum();
                self.has_symbols(object, block, count, false, runs)
            }
            Need::Symbols { object, open, block, state } => {
                let parity = open.format().parity;
                if explicit.names_few(state) {
                    let wanted = crate::receiver::request::wanted(state, 0);
                    return self.has_symbols(object, block, state.erasures(), false, &wanted);
                }
                let wanted = crate::receiver::request::wanted(state, parity);
                let fresh = state.parity_seen().saturating_add(state.erasures()) <= parity;
                self.has_symbols(object, block, state.erasures(), fresh, &wanted)
            }
        }
    }
}

/// The position behind all items.
fn end_of(near: ObjectIndex, field: FieldSize, requests: &RepairRequests<'_>) -> Option<Position> {
    let behind = |level: RepairLevel, item: RepairItem| {
        let object = near.nearest(item.object_transport_id);
        match level.has(RepairLevel::OBJECT) {
            true => Position { object: object.next(), block: 0 },
            false => Position::after(object, item.id(field).block),
        }
    };
    requests.iter().flat_map(|r| r.iter().map(move |item| behind(r.level, item))).max()
}

impl Asked {
    fn note(&mut self, message: u32, first: u64, end: u64) {
        if self.message != message {
            (self.message, self.count) = (message, 0);
        }
        self.count += end.saturating_sub(first);
        self.most = self.most.max(self.count);
        self.ids.insert(first, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receiver::tests::raw;
    use alloc::vec::Vec;
    use fanfare_wire::{FecId, FecPayloadId, ObjectTransportId, nack::RequestWriter};

    const NEAR: ObjectIndex = ObjectIndex(0x1_0000);

    fn id(block: u32, symbol: u16) -> FecPayloadId {
        raw(block, symbol).unpack(FieldSize::M8)
    }

    fn heard(cut: bool, write: impl FnOnce(&mut RequestWriter)) -> Suppression {
        let mut writer = RequestWriter::new(FecId::ReedSolomon8, FieldSize::M8, 1000);
        write(&mut writer);
        let bytes = writer.finish();
        let mut suppression = Suppression::default();
        let requests = RepairRequests::parse(&bytes).unwrap();
        suppression.hear(NEAR, FieldSize::M8, &requests, cut);
        suppression
    }

    fn symbols(first: u16, last: u16) -> Suppression {
        heard(false, |writer| {
            let object = ObjectTransportId(0);
            let level = RepairLevel(RepairLevel::SEGMENT);
            writer.range(level, (object, object), id(3, first), id(3, last));
        })
    }

    #[test]
    fn the_same_symbols_cover_whether_parity_is_fresh_or_not() {
        let suppression = symbols(16, 18);
        assert!(suppression.has_symbols(NEAR, 3, 2, false, &[(16, 17)]));
        assert!(!suppression.has_symbols(NEAR, 3, 2, false, &[(18, 19)]));
        assert!(!suppression.has_symbols(NEAR, 4, 1, true, &[(16, 16)]));
    }

    #[test]
    fn as_many_symbols_cover_while_parity_is_fresh() {
        let suppression = symbols(18, 20);
        assert!(suppression.has_symbols(NEAR, 3, 3, true, &[(16, 18)]));
        assert!(!suppression.has_symbols(NEAR, 3, 4, true, &[(16, 19)]));
    }

    #[test]
    fn a_request_for_a_whole_block_or_object_covers_the_info_but_not_a_few_missing_symbols() {
        let object = ObjectTransportId(0);
        let block = heard(false, |writer| {
            writer.item(RepairLevel(RepairLevel::BLOCK), object, id(3, 0));
        });
        let whole = heard(false, |writer| {
            writer.item(RepairLevel(RepairLevel::OBJECT), object, id(0, 0));
        });
        assert!(!block.has_symbols(NEAR, 3, 9, false, &[(0, 8)]));
        assert!(!whole.has_symbols(NEAR, 3, 9, false, &[(0, 8)]) && whole.has_info(NEAR));
        assert_eq!(
            block.blocks_left(NEAR, 3, 3).count() + whole.blocks_left(NEAR, 3, 3).count(),
            0
        );
    }

    #[test]
    fn only_the_requested_part_of_a_run_is_left_out() {
        let objects = (ObjectTransportId(2), ObjectTransportId(4));
        let suppression = heard(false, |writer| {
            writer.range(RepairLevel(RepairLevel::OBJECT), objects, id(0, 0), id(0, 0));
        });
        let left = suppression.objects_left(NEAR, ObjectIndex(NEAR.0 + 6));
        let left: Vec<_> = left.map(|(a, b)| (a.0 - NEAR.0, b.0 - NEAR.0)).collect();
        assert_eq!(left, [(0, 1), (5, 6)]);
    }

    #[test]
    fn a_truncated_advertisement_suppresses_requests_for_what_lies_after_it() {
        let object = ObjectTransportId(0);
        let write = |writer: &mut RequestWriter| {
            writer.item(RepairLevel(RepairLevel::BLOCK), object, id(3, 0));
        };
        assert_eq!(heard(false, write).limit(), None);
        assert_eq!(heard(true, write).limit(), Some(Position { object: NEAR, block: 4 }));
    }
}
