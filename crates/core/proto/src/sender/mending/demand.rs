//! Reads repair requests, and compares them with what the sender can send (RFC 5740 4.3.1, 5.4.1).

use crate::sender::{
    block::BlockDemand,
    block_ranges::BlockRanges,
    cache::{Cache, Found},
    coding::Coding,
    in_flight::BlockInFlight,
    object::TransmitObject,
};
use alloc::{collections::BTreeMap, vec::Vec};
use fanfare_wire::{
    FecPayloadId, ObjectTransportId, RepairForm, RepairItem, RepairLevel, RepairRequest,
    RepairRequests, SourceBlockNumber,
};

/// Blocks with named symbols kept at once; what would pass that is requested again later.
const BLOCKS_MAX: usize = 1 << 16;

/// What is wanted of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::sender) struct ObjectDemand {
    /// NORM_INFO.
    pub(in crate::sender) info: bool,
    /// Everything.
    pub(in crate::sender) whole: bool,
    /// Whole blocks.
    pub(in crate::sender) blocks: BlockRanges,
    /// Symbols of blocks.
    pub(in crate::sender) symbols: BTreeMap<u32, BlockDemand>,
}

impl ObjectDemand {
    fn merge(&mut self, other: Self, room: &mut usize) {
        self.info |= other.info;
        self.whole |= other.whole;
        self.blocks.merge(&other.blocks);
        for (block, wanted) in other.symbols {
            if let Some(mine) = self.symbols.get_mut(&block) {
                mine.merge(wanted);
            } else if *room > 0 {
                *room -= 1;
                self.symbols.insert(block, wanted);
            }
        }
    }

    fn is_empty(&self) -> bool {
        !self.info && !self.whole && self.blocks.is_empty() && self.symbols.is_empty()
    }
}

/// What is wanted, by the ordinal of the object in the cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::sender) struct Demand {
    pub(in crate::sender) objects: BTreeMap<u64, ObjectDemand>,
}

impl Demand {
    pub(in crate::sender) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Another receiver's demand: counts per block by the greatest, names by their union.
    pub(in crate::sender) fn merge(&mut self, other: Self) {
        let held: usize = self.objects.values().map(|o| o.symbols.len()).sum();
        let mut room = BLOCKS_MAX.saturating_sub(held);
        for (ordinal, object) in other.objects {
            self.objects.entry(ordinal).or_default().merge(object, &mut room);
        }
    }

    /// Some of what is sent will be lost: `more` says how much goes with how many symbols.
    pub(in crate::sender) fn allow(&mut self, more: impl Fn(u16) -> u16) {
        let symbols = self.objects.values_mut().flat_map(|object| object.symbols.values_mut());
        symbols.for_each(|wanted| wanted.allow(&more));
    }

    /// Symbols that are named are to be sent by name, where they are few.
    pub(in crate::sender) fn serve_by_name(&mut self) {
        let symbols = self.objects.values_mut().flat_map(|object| object.symbols.values_mut());
        symbols.for_each(|wanted| wanted.explicitly = true);
    }

    /// Leaves what is not on its way to the asker: `in_flight` has symbols by object and block. Who
    /// requests all of what is on its way in part may ask again for the rest.
    pub(in crate::sender) fn deduct(&mut self, in_flight: &BTreeMap<(u64, u32), BlockInFlight>) {
        for ((ordinal, block), in_flight_block) in in_flight {
            let Some(object) = self.objects.get_mut(ordinal) else { continue };
            object.whole = false;
            object.blocks.remove(*block);
            if let Some(wanted) = object.symbols.get_mut(block) {
                wanted.deduct(in_flight_block);
            }
        }
        for object in self.objects.values_mut() {
            object.symbols.retain(|_, wanted| wanted.need.max(wanted.allowance) > 0);
        }
        self.objects.retain(|_, object| !object.is_empty());
    }

    /// Leaves nothing of blocks that were sent before and of which the asker has next to nothing.
    pub(in crate::sender) fn strip_again(&mut self, cache: &Cache) {
        for (ordinal, wanted) in &mut self.objects {
            if let Some(object) = cache.get(*ordinal) {
                object.strip_again(wanted);
            }
        }
        self.objects.retain(|_, object| !object.is_empty());
    }

    /// Leaves only what lies beyond `position` (ordinal and block sent last).
    pub(in crate::sender) fn keep_ahead_of(&mut self, position: (u64, u32)) {
        let (ordinal, block) = position;
        self.objects = self.objects.split_off(&ordinal);
        if let Some(object) = self.objects.get_mut(&ordinal) {
            (object.info, object.whole) = (false, false);
            object.blocks.remove_through(block);
            object.symbols = object.symbols.split_off(&block.saturating_add(1));
            if object.is_empty() {
                self.objects.remove(&ordinal);
            }
        }
    }
}

/// One NACK, understood.
#[derive(Debug, Default)]
pub(in crate::sender) struct Reading {
    /// What can be served.
    pub(in crate::sender) demand: Demand,
    /// Objects asked for that are gone; of a range the first and the last such.
    pub(in crate::sender) gone: Vec<ObjectTransportId>,
    /// Items that made no sense for this sender, or were too many.
    pub(in crate::sender) ignored: u64,
    /// Objects of ranges that may still be looked at.
    left: usize,
}

/// Objects of ranges looked at for one message, beside those that there are: ranges may name them again and again.
const LOOKED_MAX: usize = 4096;

impl Reading {
    /// Reads all requests of a message.
    pub(in crate::sender) fn new(
        requests: &RepairRequests<'_>,
        coding: &Coding,
        cache: &Cache,
    ) -> Self {
        let mut reading = Self { left: cache.len() + LOOKED_MAX, ..Self::default() };
        requests.iter().for_each(|request| reading.request(&request, coding, cache));
        reading.demand.objects.retain(|ordinal, object| {
            cache.get(*ordinal).into_iter().for_each(|sent| sent.strip_unsent(object));
            object.symbols.retain(|_, wanted| wanted.need > 0);
            !object.is_empty()
        });
        reading
    }

    fn request(&mut self, request: &RepairRequest<'_>, coding: &Coding, cache: &Cache) {
        let mut items = request.iter();
        while let Some(first) = items.next() {
            let last = match request.form {
                RepairForm::Ranges => items.next(),
                RepairForm::Items | RepairForm::Erasures => Some(first),
            };
            let counted = request.form == RepairForm::Erasures;
            match last.and_then(|last| Span::new(&first, &last, coding)) {
                Some(span) => self.span(request.level, &span, counted, coding, cache),
                None => self.ignored += 1,
            }
        }
    }

    fn span(
        &mut self,
        level: RepairLevel,
        span: &Span,
        counted: bool,
        coding: &Coding,
        cache: &Cache,
    ) {
        if level.has(RepairLevel::OBJECT) && !level.has(RepairLevel::SEGMENT) {
            return self.objects(span, cache, |wanted| wanted.whole = true);
        }
        if level.0 == RepairLevel::INFO && span.objects.0 != span.objects.1 {
            return self.objects(span, cache, |_| {});
        }
        if span.objects.0 != span.objects.1 {
            self.ignored += 1;
            return;
        }
        let Some((ordinal, object)) = self.find(span.objects.0, cache) else { return };
        let span = &span.in_whole_numbers(object, coding);
        if span.first.block.0 < object.low() && !level.has(RepairLevel::INFO) {
            self.gone.push(span.objects.0);
        }
        let wanted = self.demand.objects.entry(ordinal).or_default();
        wanted.info |= level.has(RepairLevel::INFO) && object.info.is_some();
        let understood = if level.has(RepairLevel::SEGMENT) {
            span.symbols(wanted, object, counted, coding)
        } else if level.has(RepairLevel::BLOCK) {
            span.blocks(wanted, object)
        } else {
            wanted.info
        };
        // Who asks for what the object does not have takes it for another: its INFO says what it is.
        wanted.info |= !understood && object.info.is_some();
        self.ignored += u64::from(!understood);
    }

    fn find<'c>(
        &mut self,
        id: ObjectTransportId,
        cache: &'c Cache,
    ) -> Option<(u64, &'c TransmitObject)> {
        match cache.find(id) {
            Found::Cached(ordinal) => return cache.get(ordinal).map(|object| (ordinal, object)),
            Found::Gone => self.gone.push(id),
            Found::Unknown => {}
        }
        self.ignored += 1;
        None
    }

    /// A range of objects is met with the cache: it may span half the number space. The INFO of each is wanted in any
    /// case: an object is not whole without it, and one without content is all INFO.
    fn objects(&mut self, span: &Span, cache: &Cache, want: impl Fn(&mut ObjectDemand)) {
        let (first, last) = span.objects;
        if first != last && !first.precedes(last) {
            self.ignored += 1;
            return;
        }
        let mut served = 0;
        let left = self.left;
        for (ordinal, object) in cache.range(first, last).take(left) {
            self.left -= 1;
            let wanted = self.demand.objects.entry(ordinal).or_default();
            want(wanted);
            wanted.info |= object.info.is_some();
            served += 1;
        }
        let asked = first.distance_to(last) + 1;
        if served < asked {
            let gone = |id: &ObjectTransportId| cache.find(*id) == Found::Gone;
            self.gone.extend([first, last].into_iter().filter(gone));
            self.ignored += 1;
        }
    }
}

/// One item, or the two ends of a range.
struct Span {
    objects: (ObjectTransportId, ObjectTransportId),
    first: FecPayloadId,
    last: FecPayloadId,
}

impl Span {
    fn new(first: &RepairItem, last: &RepairItem, coding: &Coding) -> Option<Self> {
        let ours = |item: &RepairItem| item.payload_id.fec_id == coding.fec_id;
        (ours(first) && ours(last)).then(|| Self {
            objects: (first.object_transport_id, last.object_transport_id),
            first: first.id(coding.field),
            last: last.id(coding.field),
        })
    }

    /// With block numbers that do not wrap.
    fn in_whole_numbers(&self, object: &TransmitObject, coding: &Coding) -> Self {
        let whole = |id: FecPayloadId| {
            let block = SourceBlockNumber(object.whole_number(id.block.0, coding));
            FecPayloadId { block, ..id }
        };
        Self { objects: self.objects, first: whole(self.first), last: whole(self.last) }
    }

    /// Whole blocks, as far as the object has them. False when it has none of them.
    fn blocks(&self, wanted: &mut ObjectDemand, object: &TransmitObject) -> bool {
        let (first, end) = (self.first.block.0, self.last.block.0.saturating_add(1));
        let (first, end) = (first.max(object.low()), end.min(object.blocks_sent()));
        wanted.blocks.insert(first, end);
        first < end
    }

    /// Symbols of one block, or their number. False when the block cannot have them.
    fn symbols(
        &self,
        wanted: &mut ObjectDemand,
        object: &TransmitObject,
        counted: bool,
        coding: &Coding,
    ) -> bool {
        let block = self.first.block.0;
        let source = object.block_len(block);
        let there =
            object.stream.is_none() || (object.low()..object.blocks_sent()).contains(&block);
        if self.last.block.0 != block || source == 0 || !there {
            return false;
        }
        let entry = wanted.symbols.entry(block).or_default();
        let (first, last) = (self.first.symbol.0, self.last.symbol.0);
        if counted {
            entry.need = entry.need.saturating_add(first).min(source);
            entry.unnamed = true;
            return first > 0;
        }
        let end = last.min(source + coding.parity - 1);
        for symbol in first..=end {
            entry.need += u16::from(entry.named.insert(symbol));
        }
        // A block has no more erasures than source symbols, whatever is named.
        entry.need = entry.need.min(source);
        first <= last && end == last
    }
}

#[cfg(test)]
pub(in crate::sender) mod tests {
    use super::*;
    use crate::{sender::coding::tests::coding, time::Time};
    use fanfare_wire::{
        EncodingSymbolId, FecId, FieldSize, InstanceId, Message, Nack, NodeId, SourceBlockNumber,
        ext::Extensions, header::FeedbackFields, nack::RequestWriter,
    };

    pub(in crate::sender) fn id(block: u32, symbol: u16) -> FecPayloadId {
        let (block, symbol) = (SourceBlockNumber(block), EncodingSymbolId(symbol));
        FecPayloadId { block, block_len: 0, symbol }
    }

    pub(in crate::sender) fn nack(from: u32, write: impl FnOnce(&mut RequestWriter)) -> Vec<u8> {
        let mut writer = RequestWriter::new(FecId::ReedSolomon8, FieldSize::M8, 1400);
        write(&mut writer);
        let mut out = Vec::new();
        let feedback = FeedbackFields {
            sequence: fanfare_wire::Sequence(0),
            source_id: NodeId(from),
            server_id: NodeId(1),
            instance_id: InstanceId(1),
            grtt_response: None,
        };
        let (extensions, requests) = (Extensions::default(), RepairRequests::default());
        Nack { feedback, extensions, requests }.encode(None, &writer.finish(), &mut out);
        out
    }

    fn read(cache: &Cache, coding: &Coding, write: impl FnOnce(&mut RequestWriter)) -> Reading {
        let bytes = nack(2, write);
        let Ok(Message::Nack(nack)) = Message::parse(&bytes) else { panic!("not a NACK") };
        Reading::new(&nack.requests, coding, cache)
    }

    fn cache(coding: &Coding, sizes: &[u64]) -> Cache {
        crate::sender::cache::tests::cache(coding, sizes, Time::ZERO)
    }

    const OBJECT: ObjectTransportId = ObjectTransportId(0);

    #[test]
    fn symbols_of_one_block_are_counted_and_named() {
        let coding = coding(4, 2, 0);
        let cache = cache(&coding, &[120]);
        let reading = read(&cache, &coding, |w| {
            assert!(w.range(
                RepairLevel(RepairLevel::SEGMENT),
                (OBJECT, OBJECT),
                id(1, 1),
                id(1, 3)
            ));
            assert!(w.item(RepairLevel(RepairLevel::SEGMENT), OBJECT, id(1, 4)));
        });
        let object = reading.demand.objects.values().next().unwrap();
        let block = &object.symbols[&1];
        assert_eq!((block.need, block.named.len(), reading.ignored), (4, 4, 0));
    }

    #[test]
    fn what_an_object_does_not_have_is_ignored_and_counted() {
        let coding = coding(4, 2, 0);
        let cache = cache(&coding, &[30]);
        let reading = read(&cache, &coding, |w| {
            w.item(RepairLevel(RepairLevel::SEGMENT), OBJECT, id(9, 0));
            w.item(RepairLevel(RepairLevel::SEGMENT), OBJECT, id(0, 5));
            w.item(RepairLevel(RepairLevel::BLOCK), OBJECT, id(7, 0));
            w.item(RepairLevel(RepairLevel::INFO), OBJECT, id(0, 0));
            w.item(RepairLevel(RepairLevel::OBJECT), ObjectTransportId(1), id(0, 0));
        });
        assert_eq!(reading.ignored, 5);
        assert!(reading.gone.is_empty(), "an object to come is not gone");
    }

    #[test]
    fn who_asks_for_what_an_object_does_not_have_is_sent_its_info() {
        let coding = coding(4, 2, 0);
        let cache = crate::sender::cache::tests::described(&coding, 3);
        let reading = read(&cache, &coding, |w| {
            w.item(RepairLevel(RepairLevel::BLOCK), ObjectTransportId(1), id(7000, 0));
        });
        let wanted: Vec<_> = reading.demand.objects.values().map(|o| (o.info, o.whole)).collect();
        assert_eq!((&wanted[..], reading.ignored), (&[(true, false)][..], 1));
    }

    #[test]
    fn a_range_over_half_the_number_space_asks_only_for_what_is_cached() {
        let coding = coding(4, 2, 0);
        let cache = cache(&coding, &[30, 30]);
        let first = ObjectTransportId(0x9000);
        let reading = read(&cache, &coding, |w| {
            let level = RepairLevel(RepairLevel::OBJECT);
            w.range(level, (first, ObjectTransportId(1)), id(0, 0), id(0, 0));
        });
        assert_eq!(reading.demand.objects.len(), 2);
        assert_eq!(reading.gone, [first]);
    }

    #[test]
    fn a_range_that_is_repeated_is_processed_a_limited_number_of_times() {
        let coding = coding(4, 2, 0);
        let cache = crate::sender::cache::tests::described(&coding, 3);
        let bytes = {
            let mut writer = RequestWriter::new(FecId::ReedSolomon8, FieldSize::M8, 60_000);
            let level = RepairLevel(RepairLevel::INFO);
            let ends = (ObjectTransportId(0), ObjectTransportId(2));
            while writer.range(level, ends, id(0, 0), id(0, 0)) {}
            writer.finish()
        };
        let reading = Reading::new(&RepairRequests::parse(&bytes).unwrap(), &coding, &cache);
        assert_eq!((reading.left, reading.demand.objects.len()), (0, 3));
        assert!(reading.ignored > 2000, "{}", reading.ignored);
    }

    #[test]
    fn a_range_of_infos_asks_for_each_and_for_nothing_else() {
        let coding = coding(4, 2, 0);
        let cache = crate::sender::cache::tests::described(&coding, 3);
        let reading = read(&cache, &coding, |w| {
            let level = RepairLevel(RepairLevel::INFO);
            w.range(level, (ObjectTransportId(1), ObjectTransportId(2)), id(0, 0), id(0, 0));
        });
        assert_eq!(reading.ignored, 0);
        let wanted: Vec<_> = reading.demand.objects.values().map(|o| (o.info, o.whole)).collect();
        assert_eq!(wanted, [(true, false); 2]);
    }

    #[test]
    fn only_what_lies_ahead_of_the_position_is_kept_in_holdoff() {
        let coding = coding(4, 2, 0);
        let cache = cache(&coding, &[200, 200]);
        let mut demand = read(&cache, &coding, |w| {
            for block in 0..4 {
                w.item(RepairLevel(RepairLevel::SEGMENT), OBJECT, id(block, 0));
            }
            w.item(RepairLevel(RepairLevel::OBJECT), ObjectTransportId(1), id(0, 0));
        })
        .demand;
        let (first, _) = demand.objects.first_key_value().unwrap();
        demand.keep_ahead_of((*first, 2));
        let symbols: Vec<usize> = demand.objects.values().map(|o| o.symbols.len()).collect();
        assert_eq!(symbols, [1, 0]);
    }
}
