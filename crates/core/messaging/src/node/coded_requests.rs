//! What a node with coded packets requests: it leaves out what it can solve once the rest arrives.

use super::{GroupNode, requests::asked_of};
use crate::{
    coding::coded_packet::{BLOCKS_MAX, Class, Scope, term_of},
    frames::frame::Kind,
    frames::nack::{self, NACK_MAX},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::ops::RangeInclusive;
use fanfare_proto::ObjectKey;
use fanfare_wire::{
    EncodingSymbolId, FecId, FecPayloadId, FieldSize, Message, Nack, ObjectTransportId, RepairForm,
    RepairItem, RepairLevel, RepairRequest, SourceBlockNumber,
    ext::{CcFlags, Extensions},
    nack::RequestWriter,
};

/// A NACK that is being written again.
struct Shortening {
    writer: RequestWriter,
    field: FieldSize,
    /// Terms that are left out.
    infos: BTreeSet<u32>,
    symbols: BTreeSet<u32>,
    /// How many symbols of each block were to be requested, while none of it has been written.
    blocks: BTreeMap<(u16, u32), usize>,
}

/// Of so few others each NACK counts that tells its sender the round trip, which one in few bytes does not.
const FEW: usize = 10;

impl GroupNode {
    /// A NACK of this node's own as it is to be sent; `None` when it is right as it is.
    pub(super) fn own_nack(&mut self, nack: &Nack<'_>) -> Option<Vec<u8>> {
        let incarnation = asked_of(nack);
        if self.answers_with_sums(incarnation) {
            for class in [Class::Info, Class::Symbol] {
                self.equations.on_asked((incarnation, class));
            }
        }
        // What is not told in few bytes has no room for all.
        let room = self.config.frame_max.saturating_sub(encoded(nack, &[]).len());
        let told = self.condensed(nack).or_else(|| self.shortened(nack, room));
        let long = nack.requests.as_bytes().len() > room;
        told.or_else(|| long.then(|| encoded(nack, &nack.requests.within(room))))
    }

    /// Without what follows, in `room` bytes of requests; `None` when it is so as it is. Who is answered with parity
    /// requests all that it lacks: sums over several objects and parity do not add up.
    fn shortened(&mut self, nack: &Nack<'_>, room: usize) -> Option<Vec<u8>> {
        let incarnation = asked_of(nack);
        let sums = self.answers_with_sums(incarnation);
        let of = |class| (incarnation, class);
        let (infos, symbols) = match sums {
            true => {
                let told = |class: Class, numbers: BTreeSet<u64>| -> BTreeSet<u32> {
                    numbers.into_iter().map(|number| class.told(number)).collect()
                };
                let follow = |class| told(class, self.equations.follows(of(class)));
                (follow(Class::Info), follow(Class::Symbol))
            }
            false => (self.infos_that_follow(of(Class::Info), nack), BTreeSet::new()),
        };
        if infos.is_empty() && symbols.is_empty() && nack.requests.as_bytes().len() <= room {
            return None;
        }
        let (fec_id, field) = self.coding_of(nack)?;
        let writer = RequestWriter::new(fec_id, field, room);
        let blocks = asked_of_blocks(nack, field);
        let mut shortening = Shortening { writer, field, infos, symbols, blocks };
        for request in nack.requests.iter() {
            for range in request.ranges() {
                match Asked::of(&request)? {
                    Asked::Symbols | Asked::Blocks if !sums => {
                        let objects = (range.0.object_transport_id, range.1.object_transport_id);
                        let ids = (range.0.id(field), range.1.id(field));
                        shortening.write(request.level, objects, ids);
                    }
                    Asked::Symbols => self.shorten_block(
                        (incarnation, Class::Symbol),
                        (range.0.object_transport_id, range.0.id(field)),
                        &mut shortening,
                    ),
                    Asked::Blocks => {
                        self.shorten_blocks((incarnation, Class::Symbol), &range, &mut shortening)
                    }
                    Asked::Objects => shortening.objects(request.level, &range),
                }
            }
        }
        let requests = shortening.writer.finish();
        (!requests.is_empty()).then(|| encoded(nack, &requests))
    }

    /// Of a publisher that is asked itself: what follows from what else this requests.
    fn infos_that_follow(&self, scope: Scope, nack: &Nack<'_>) -> BTreeSet<u32> {
        if self.equations.len(scope) == 0 {
            return BTreeSet::new();
        }
        let asked = self.infos_asked(nack);
        let asked = asked.iter().flat_map(|(first, end)| first..end).collect();
        let follow = self.equations.follow_from(scope, &asked);
        follow.into_iter().map(|index| Class::Info.told(index)).collect()
    }

    /// How what a NACK requests first is coded: requests cannot be read without it.
    fn coding_of(&mut self, nack: &Nack<'_>) -> Option<(FecId, FieldSize)> {
        let incarnation @ (sender, instance) = asked_of(nack);
        let fec_id = self.session.receiver().summary(incarnation)?.fec_id;
        let first = nack.requests.iter().find_map(|request| request.iter().next())?;
        let key = ObjectKey { sender, instance, object: first.object_transport_id };
        let field = self.session.receiver().field(key).unwrap_or(FieldSize::M8);
        Some((fec_id, field))
    }

    /// A NACK of this node's own in fewer bytes, where its publisher would not hear it anyway. Where there is nobody but
    /// the publisher it goes as it is: it is in vain, or the first that tells it the round trip. Who announces nothing says
    /// nothing that is not NORM.
    fn condensed(&mut self, nack: &Nack<'_>) -> Option<Vec<u8>> {
        let (incarnation, own) = (asked_of(nack), self.session.node_id());
        let limiting = nack.extensions.cc().is_some_and(|cc| cc.flags.has(CcFlags::CLR));
        let all_read = self.reports() && !limiting && self.members.len() > FEW;
        let unheard = self.does_not_answer(incarnation, own);
        if !all_read && !self.members.hears_nobody(incarnation.0) && !unheard {
            return None;
        }
        if !self.config.announces || self.members.len() <= 1 {
            return None;
        }
        let coding = self.coding_of(nack)?;
        let shortened = self.shortened(nack, NACK_MAX);
        let shortened = shortened.as_ref().map(|bytes| Message::parse(bytes));
        let nack = match &shortened {
            Some(Ok(Message::Nack(shortened))) => shortened,
            _ => nack,
        };
        let mut content = Vec::new();
        let room = self.config.frame_max.saturating_sub(self.frame_headers());
        if !nack::append(nack, coding, room, &mut content) {
            return None;
        }
        let mut out = Vec::new();
        let kind = (Kind::Nack, Extensions::default());
        self.write_frame(kind, |_, out| out.extend_from_slice(&content), &mut out);
        self.stats.nack_frames_sent += 1;
        self.stats.nack_bytes_sent += out.len() as u64;
        Some(out)
    }

    /// Of whole blocks what does not follow; those of which nothing does are requested as they were.
    fn shorten_blocks(
        &mut self,
        scope: Scope,
        (first, last): &(RepairItem, RepairItem),
        to: &mut Shortening,
    ) {
        let object = first.object_transport_id;
        let (first, last) = (first.id(to.field), last.id(to.field));
        for block in first.block.0..=last.block.0 {
            let id = FecPayloadId { block: SourceBlockNumber(block), ..first };
            let base = term_of(object, block, 0);
            let key = ObjectKey { sender: scope.0.0, instance: scope.0.1, object };
            let held = self.session.receiver().held(key, block);
            if block < BLOCKS_MAX
                && let Some(held) = held
                && to.symbols.range(base..=base | 0xff).next().is_some()
            {
                to.blocks.insert((object.0, block), usize::from(held.len));
                self.shorten_block(scope, (object, id), to);
            } else {
                to.write(RepairLevel(RepairLevel::BLOCK), (object, object), (id, id));
            }
        }
    }

    /// Of a block as many symbols as were to be requested, of those that do not follow from others: where
    /// parity of it is here, that is fewer than are missing.
    fn shorten_block(
        &mut self,
        ((sender, instance), _): Scope,
        (object, id): (ObjectTransportId, FecPayloadId),
        to: &mut Shortening,
    ) {
        let Some(count) = to.blocks.remove(&(object.0, id.block.0)) else { return };
        let key = ObjectKey { sender, instance, object };
        let Some(held) = self.session.receiver().held(key, id.block.0) else { return };
        let missing = (0..held.len).filter(|symbol| held.sources.binary_search(symbol).is_err());
        let free =
            missing.filter(|symbol| !to.symbols.contains(&term_of(object, id.block.0, *symbol)));
        let free: Vec<u16> = free.take(count).collect();
        for run in free.chunk_by(|a, b| a + 1 == *b) {
            let (Some(&first), Some(&last)) = (run.first(), run.last()) else { continue };
            let at = |symbol| FecPayloadId { symbol: EncodingSymbolId(symbol), ..id };
            to.write(RepairLevel(RepairLevel::SEGMENT), (object, object), (at(first), at(last)));
        }
    }
}

impl Shortening {
    fn objects(&mut self, level: RepairLevel, (first, last): &(RepairItem, RepairItem)) {
        let ids = (first.id(self.field), last.id(self.field));
        let (first, last) = (first.object_transport_id, last.object_transport_id);
        let object = |step: u32| ObjectTransportId(first.0.wrapping_add(step as u16));
        let span = u32::from(last.0.wrapping_sub(first.0));
        let follows = |step| self.infos.contains(&u32::from(object(step).0));
        for (first, last) in left(0..=span, follows) {
            self.write(level, (object(first), object(last)), ids);
        }
    }

    /// What does not fit is requested the next time.
    fn write(
        &mut self,
        level: RepairLevel,
        objects: (ObjectTransportId, ObjectTransportId),
        (first, last): (FecPayloadId, FecPayloadId),
    ) {
        match objects.0 == objects.1 && first == last {
            true => self.writer.item(level, objects.0, first),
            false => self.writer.range(level, objects, first, last),
        };
    }
}

/// What a request is of.
enum Asked {
    Symbols,
    Blocks,
    Objects,
}

impl Asked {
    /// `None` of what stays as it is.
    fn of(request: &RepairRequest<'_>) -> Option<Self> {
        const OBJECTS: u8 = RepairLevel::INFO | RepairLevel::OBJECT;
        match request.level.0 {
            _ if request.form == RepairForm::Erasures => None,
            RepairLevel::SEGMENT => Some(Self::Symbols),
            RepairLevel::BLOCK => Some(Self::Blocks),
            level if level & !OBJECTS == 0 => Some(Self::Objects),
            _ => None,
        }
    }
}

/// The NACK with these requests.
fn encoded(nack: &Nack<'_>, requests: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    nack.encode(nack.extensions.cc().as_ref(), requests, &mut out);
    out
}

fn asked_of_blocks(nack: &Nack<'_>, field: FieldSize) -> BTreeMap<(u16, u32), usize> {
    let mut blocks = BTreeMap::new();
    for request in nack.requests.iter().filter(|request| request.level.0 == RepairLevel::SEGMENT) {
        for (first, last) in request.ranges() {
            let (a, b) = (first.id(field), last.id(field));
            let count: &mut usize =
                blocks.entry((first.object_transport_id.0, a.block.0)).or_default();
            *count += usize::from(b.symbol.0.saturating_sub(a.symbol.0)) + 1;
        }
    }
    blocks
}

/// The runs of a range without those that are left out.
fn left(range: RangeInclusive<u32>, out: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in range.filter(|number| !out(*number)) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs
}
