//! What a request for repair comes to: what is sent from the cache, what waits for symbols that are on
//! their way, and what is to be asked of the sender.

use std::time::Duration;

use fanfare_wire::{
    EncodingSymbolId, FecId, FecPayloadId, FieldSize, Nack, ObjectTransportId, RepairForm,
    RepairItem, RepairLevel, RepairRequest, SourceBlockNumber, nack::RequestWriter,
};

use crate::{
    cache::{Cache, Key},
    ledger::{Ledger, Repair},
    object::Object,
    side::Side,
};

/// Things that one request can come to: a request is a datagram, and a range in it can be long.
const THINGS_MAX: usize = 16_384;
/// Requests of one message, bytes: with its header it is shorter than any segment.
const ROOM: usize = 1000;

/// One request, while it is worked at.
pub(crate) struct Demand<'a> {
    pub(crate) cache: &'a mut Cache,
    pub(crate) ledger: &'a mut Ledger,
    /// Whose objects, in which life; and who asks.
    pub(crate) sender: (u32, u16),
    pub(crate) side: Side,
    pub(crate) now: Duration,
    /// What was sent, or asked for, is not again within this.
    pub(crate) hold: Duration,
    things: usize,
    /// Objects of which NORM_INFO is to be sent.
    pub(crate) infos: Vec<Key>,
}

/// What is to be asked of the sender, in the form of one encoding id.
struct Asking {
    writer: RequestWriter,
    full: bool,
}

impl Asking {
    fn item(&mut self, level: u8, object: u16, id: FecPayloadId) -> bool {
        let fits = self.writer.item(RepairLevel(level), ObjectTransportId(object), id);
        self.full |= !fits;
        fits
    }

    fn range(&mut self, level: u8, object: u16, ends: (FecPayloadId, FecPayloadId)) -> bool {
        if ends.0 == ends.1 {
            return self.item(level, object, ends.0);
        }
        let object = ObjectTransportId(object);
        let fits = self.writer.range(RepairLevel(level), (object, object), ends.0, ends.1);
        self.full |= !fits;
        fits
    }
}

impl<'a> Demand<'a> {
    pub(crate) fn new(
        (cache, ledger): (&'a mut Cache, &'a mut Ledger),
        sender: (u32, u16),
        side: Side,
        (now, hold): (Duration, Duration),
    ) -> Self {
        Self { cache, ledger, sender, side, now, hold, things: 0, infos: Vec::new() }
    }

    /// Serves what can be served; what is to be asked of the sender, as the content of a NACK.
    pub(crate) fn on_nack(&mut self, nack: &Nack<'_>) -> Vec<u8> {
        let first = nack.requests.iter().find_map(|request| request.iter().next());
        let Some(first) = first else { return Vec::new() };
        let fec_id = first.payload_id.fec_id;
        let field = self.object(first.object_transport_id.0).map_or(unknown(fec_id), |o| o.field());
        let writer = RequestWriter::new(fec_id, field, ROOM);
        let mut asking = Asking { writer, full: false };
        for request in nack.requests.iter() {
            for (first, last) in request.ranges() {
                if first.payload_id.fec_id == fec_id && !asking.full {
                    self.range(&request, (first, last), field, &mut asking);
                }
            }
        }
        asking.writer.finish()
    }

    fn key(&self, object: u16) -> Key {
        (self.sender.0, self.sender.1, object)
    }

    fn object(&mut self, object: u16) -> Option<&mut Object> {
        self.cache.get(self.key(object))
    }

    fn range(
        &mut self,
        request: &RepairRequest<'_>,
        (first, last): (RepairItem, RepairItem),
        field: FieldSize,
        asking: &mut Asking,
    ) {
        let (from, to) = (first.object_transport_id.0, last.object_transport_id.0);
        let level = request.level;
        let (one, other) = (first.id(field), last.id(field));
        if level.has(RepairLevel::INFO) {
            self.each_object(from, to, |this, object| this.info(object, one, asking));
        }
        if level.has(RepairLevel::OBJECT) {
            self.each_object(from, to, |this, object| this.whole(object, one, asking));
        } else if level.has(RepairLevel::BLOCK) {
            self.blocks(from, (one.block.0, other.block.0), one.block_len, asking);
        } else if level.has(RepairLevel::SEGMENT) {
            let symbols = match request.form {
                // As many as that, of parity.
                RepairForm::Erasures => {
                    let len = self.object(from).and_then(|o| o.block_len(one.block.0));
                    let Some(len) = len.or(Some(one.block_len).filter(|len| *len > 0)) else {
                        return;
                    };
                    (len, len.saturating_add(one.symbol.0.saturating_sub(1)))
                }
                _ => (one.symbol.0, other.symbol.0),
            };
            self.symbols(from, one.block.0, symbols, one.block_len, asking);
        }
    }

    fn each_object(&mut self, from: u16, to: u16, mut each: impl FnMut(&mut Self, u16)) {
        for step in 0..=to.wrapping_sub(from) {
            self.things += 1;
            if self.things > THINGS_MAX {
                return;
            }
            each(self, from.wrapping_add(step));
        }
    }

    fn info(&mut self, object: u16, id: FecPayloadId, asking: &mut Asking) {
        let (now, hold, side, key) = (self.now, self.hold, self.side, self.key(object));
        let Some(kept) = self.cache.get(key) else {
            asking.item(RepairLevel::INFO, object, id);
            return;
        };
        if kept.info.is_some() {
            if is_due(kept.info_sent.get(&side), now, hold) {
                kept.info_sent.insert(side, now);
                self.infos.push(key);
            }
        } else if is_due(kept.info_asked.as_ref(), now, hold)
            && asking.item(RepairLevel::INFO, object, id)
        {
            kept.info_asked = Some(now);
        }
    }

    /// All of an object.
    fn whole(&mut self, object: u16, id: FecPayloadId, asking: &mut Asking) {
        let key = self.key(object);
        let count = self.cache.get(key).and_then(|kept| kept.block_count());
        match count {
            Some(count) => {
                self.info(object, id, asking);
                self.blocks(object, (0, count.saturating_sub(1)), 0, asking);
            }
            None => drop(asking.item(RepairLevel::OBJECT, object, id)),
        }
    }

    /// All of some blocks.
    fn blocks(&mut self, object: u16, (first, last): (u32, u32), len: u16, asking: &mut Asking) {
        let mut missing: Option<(u32, u32)> = None;
        for block in first..=last {
            self.things += 1;
            if self.things > THINGS_MAX || asking.full {
                break;
            }
            let key = self.key(object);
            let kept = self.cache.get(key);
            let begun =
                kept.as_ref().is_some_and(|o| o.blocks.get(&block).is_some_and(|b| b.count() > 0));
            let source = kept.and_then(|o| o.block_len(block));
            if let (true, Some(source)) = (begun, source) {
                self.symbols(object, block, (0, source - 1), len, asking);
                continue;
            }
            let (now, hold) = (self.now, self.hold);
            if let Some(kept) = self.cache.get(key) {
                let state = kept.blocks.entry(block).or_default();
                if !is_due(state.asked_whole.as_ref(), now, hold) {
                    continue;
                }
                state.asked_whole = Some(now);
            }
            missing = match missing {
                Some((from, to)) if to + 1 == block => Some((from, block)),
                Some(run) => {
                    self.ask_blocks(object, run, len, asking);
                    Some((block, block))
                }
                None => Some((block, block)),
            };
        }
        if let Some(run) = missing {
            self.ask_blocks(object, run, len, asking);
        }
    }

    fn ask_blocks(&mut self, object: u16, run: (u32, u32), len: u16, asking: &mut Asking) {
        let id = |block| FecPayloadId {
            block: SourceBlockNumber(block),
            block_len: len,
            symbol: EncodingSymbolId(0),
        };
        asking.range(RepairLevel::BLOCK, object, (id(run.0), id(run.1)));
    }

    /// Some symbols of a block: those that are here, or can be made, are sent; of the others as many are
    /// asked for as are needed before all can be made.
    fn symbols(
        &mut self,
        object: u16,
        block: u32,
        (first, last): (u16, u16),
        len: u16,
        asking: &mut Asking,
    ) {
        let (now, hold, side, key) = (self.now, self.hold, self.side, self.key(object));
        let Some(kept) = self.cache.get(key) else {
            let id = |symbol| FecPayloadId {
                block: SourceBlockNumber(block),
                block_len: len,
                symbol: EncodingSymbolId(symbol),
            };
            asking.range(RepairLevel::SEGMENT, object, (id(first), id(last)));
            return;
        };
        let (whole, deficit) = (kept.is_whole(block), kept.deficit(block));
        let name = kept.name(block, 0);
        let state = kept.blocks.entry(block).or_default();
        let on_the_way = state.asked.values().filter(|at| now.saturating_sub(**at) < hold).count();
        let mut to_ask = deficit.saturating_sub(on_the_way);
        if !is_due(state.asked_whole.as_ref(), now, hold) {
            to_ask = 0;
        }
        for symbol in first..=last {
            self.things += 1;
            if self.things > THINGS_MAX {
                return;
            }
            if whole || state.has(symbol) {
                if is_due(state.sent.get(&(side, symbol)), now, hold) {
                    state.sent.insert((side, symbol), now);
                    self.ledger.push(Repair { side, key, block, symbol });
                }
                continue;
            }
            state.wait(side, symbol);
            if to_ask > 0 && is_due(state.asked.get(&symbol), now, hold) {
                let id = FecPayloadId { symbol: EncodingSymbolId(symbol), ..name };
                if asking.item(RepairLevel::SEGMENT, object, id) {
                    state.asked.insert(symbol, now);
                    to_ask -= 1;
                }
            }
        }
    }
}

/// Whether something was not done lately.
fn is_due(last: Option<&Duration>, now: Duration, hold: Duration) -> bool {
    last.is_none_or(|at| now.saturating_sub(*at) >= hold)
}

fn unknown(fec_id: FecId) -> FieldSize {
    match fec_id {
        FecId::ReedSolomonM => FieldSize::M16,
        FecId::ReedSolomon8 | FecId::SmallBlockSystematic => FieldSize::M8,
    }
}
