//! What a relay keeps of one object: symbols by blocks, from which any other can be made.

use std::{collections::BTreeMap, time::Duration};

use fanfare_fec::{Code, Field, Matrix};
use fanfare_proto::types::partition::Partition;
use fanfare_wire::{
    EncodingSymbolId, FecId, FecPayloadId, FieldSize, ObjectFlags, STREAM_HEADER,
    SourceBlockNumber, ext::Fti,
};

use crate::side::Side;

/// Wishes of one block that wait for what is asked for.
const WAITING_MAX: usize = 256;

/// One block.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// By number: source first, then parity.
    symbols: BTreeMap<u16, Box<[u8]>>,
    /// Who wants which, as soon as it is here or can be made.
    pub(crate) waiting: Vec<(Side, u16)>,
    /// When which was sent where.
    pub(crate) sent: BTreeMap<(Side, u16), Duration>,
    /// When which was asked for.
    pub(crate) asked: BTreeMap<u16, Duration>,
    /// When all of it was asked for.
    pub(crate) asked_whole: Option<Duration>,
}

/// One object.
#[derive(Debug)]
pub(crate) struct Object {
    /// Its place in the order in which its cache took objects: an id may come again.
    pub(crate) born: u64,
    pub(crate) fec_id: FecId,
    pub(crate) flags: ObjectFlags,
    fti: Option<Fti>,
    partition: Option<Partition>,
    code: Option<Code>,
    /// NORM_INFO as it came.
    pub(crate) info: Option<Vec<u8>>,
    pub(crate) info_asked: Option<Duration>,
    pub(crate) info_sent: BTreeMap<Side, Duration>,
    pub(crate) blocks: BTreeMap<u32, Block>,
}

impl Block {
    pub(crate) fn count(&self) -> usize {
        self.symbols.len()
    }
    pub(crate) fn has(&self, symbol: u16) -> bool {
        self.symbols.contains_key(&symbol)
    }
    pub(crate) fn wait(&mut self, side: Side, symbol: u16) {
        if self.waiting.len() < WAITING_MAX && !self.waiting.contains(&(side, symbol)) {
            self.waiting.push((side, symbol));
        }
    }
    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.symbols.values().map(|symbol| symbol.len()).sum()
    }
}

impl Object {
    pub(crate) fn new(fec_id: FecId, flags: ObjectFlags) -> Self {
        Self {
            born: 0,
            fec_id,
            flags: ObjectFlags(flags.0 & !(ObjectFlags::REPAIR | ObjectFlags::EXPLICIT)),
            fti: None,
            partition: None,
            code: None,
            info: None,
            info_asked: None,
            info_sent: BTreeMap::new(),
            blocks: BTreeMap::new(),
        }
    }

    /// How it is cut and coded. What was said first counts.
    pub(crate) fn learn(&mut self, fti: Option<Fti>) {
        let Some(fti) = fti.filter(|_| self.fti.is_none()) else { return };
        let (segment, longest) = (fti.segment_size, fti.max_block_len);
        let partition = if self.flags.has(ObjectFlags::STREAM) {
            segment.checked_add(STREAM_HEADER as u16).map(|slot| Partition::stream(slot, longest))
        } else {
            Partition::new(fti.object_size, segment, longest, 1 << 32).ok()
        };
        self.partition = partition.filter(|_| longest > 0);
        self.fti = Some(fti);
    }

    pub(crate) fn field(&self) -> FieldSize {
        match (self.fti, self.fec_id) {
            (Some(fti), _) => fti.field,
            (None, FecId::ReedSolomonM) => FieldSize::M16,
            (None, _) => FieldSize::M8,
        }
    }

    pub(crate) fn fti(&self) -> Option<Fti> {
        self.fti
    }

    pub(crate) fn max_block_len(&self) -> u16 {
        self.fti.map_or(0, |fti| fti.max_block_len)
    }

    /// Source symbols of a block, once that is known.
    pub(crate) fn block_len(&self, block: u32) -> Option<u16> {
        let len = self.partition.as_ref()?.block_len(SourceBlockNumber(block));
        (len > 0).then_some(len)
    }

    /// Blocks of it, where it has an end.
    pub(crate) fn block_count(&self) -> Option<u32> {
        let fti = self.fti.filter(|_| !self.flags.has(ObjectFlags::STREAM))?;
        let symbols = fti.object_size.div_ceil(u64::from(fti.segment_size));
        u32::try_from(symbols.div_ceil(u64::from(fti.max_block_len.max(1)))).ok()
    }

    /// Whether everything of this block can be had from here.
    pub(crate) fn is_whole(&self, block: u32) -> bool {
        let have = self.blocks.get(&block).map_or(0, Block::count);
        self.block_len(block).is_some_and(|len| have >= usize::from(len))
    }

    /// How many symbols of it are missing before all can be had.
    pub(crate) fn deficit(&self, block: u32) -> usize {
        let have = self.blocks.get(&block).map_or(0, Block::count);
        self.block_len(block).map_or(usize::MAX, |len| usize::from(len).saturating_sub(have))
    }

    /// The name of a symbol, as it travels.
    pub(crate) fn name(&self, block: u32, symbol: u16) -> FecPayloadId {
        let block_len = match self.fec_id {
            FecId::SmallBlockSystematic => self.block_len(block).unwrap_or(self.max_block_len()),
            FecId::ReedSolomonM | FecId::ReedSolomon8 => 0,
        };
        FecPayloadId {
            block: SourceBlockNumber(block),
            block_len,
            symbol: EncodingSymbolId(symbol),
        }
    }

    /// Keeps a symbol; how many bytes it is, or `None` when it is here already.
    pub(crate) fn insert(&mut self, block: u32, symbol: u16, payload: &[u8]) -> Option<usize> {
        let block = self.blocks.entry(block).or_default();
        block.asked.remove(&symbol);
        if block.has(symbol) {
            return None;
        }
        block.symbols.insert(symbol, payload.into());
        Some(payload.len())
    }

    /// A symbol, from what is here; and how many bytes more are kept now.
    pub(crate) fn symbol(&mut self, block: u32, symbol: u16) -> (Option<Vec<u8>>, usize) {
        if let Some(bytes) = self.blocks.get(&block).and_then(|one| one.symbols.get(&symbol)) {
            return (Some(bytes.to_vec()), 0);
        }
        self.make(block, symbol).unwrap_or((None, 0))
    }

    fn make(&mut self, block: u32, symbol: u16) -> Option<(Option<Vec<u8>>, usize)> {
        let (fti, len) = (self.fti?, self.block_len(block)?);
        if !self.is_whole(block) {
            return None;
        }
        let size = usize::from(fti.segment_size)
            + if self.flags.has(ObjectFlags::STREAM) { STREAM_HEADER } else { 0 };
        if self.code.is_none() {
            let field = match fti.field {
                FieldSize::M8 => Field::Gf8,
                FieldSize::M16 => Field::Gf16,
            };
            let (source, parity) = (fti.max_block_len.into(), fti.num_parity.into());
            self.code = Code::new(field, Matrix::Nrl, source, parity).ok();
        }
        let added = self.fill(block, len, size)?;
        let (code, kept) = (self.code.as_ref()?, self.blocks.get(&block)?);
        if symbol < len {
            return Some((kept.symbols.get(&symbol).map(|bytes| bytes.to_vec()), added));
        }
        let number = usize::from(symbol - len);
        if number >= code.parity() {
            return Some((None, added));
        }
        let source: Vec<&[u8]> = kept.symbols.range(..len).map(|(_, bytes)| &bytes[..]).collect();
        let mut parity = vec![0; size];
        code.encode(&source, number, &mut [&mut parity]);
        Some((Some(parity), added))
    }

    /// Makes the source symbols that are missing; how many bytes they are.
    fn fill(&mut self, block: u32, len: u16, size: usize) -> Option<usize> {
        let (code, partition) = (self.code.as_ref()?, self.partition.as_ref()?);
        let kept = self.blocks.get_mut(&block)?;
        let missing: Vec<u16> = (0..len).filter(|symbol| !kept.has(*symbol)).collect();
        if missing.is_empty() {
            return Some(0);
        }
        // A stream's symbols say themselves how long they are.
        if !size.is_multiple_of(code.field().element_size()) {
            return None;
        }
        let number = |symbol: &u16| usize::from(*symbol);
        let sources: Vec<(usize, &[u8])> =
            kept.symbols.range(..len).map(|(symbol, bytes)| (number(symbol), &bytes[..])).collect();
        let parities: Vec<(usize, &[u8])> = kept
            .symbols
            .range(len..)
            .map(|(symbol, bytes)| (usize::from(symbol - len), &bytes[..]))
            .collect();
        let mut made: Vec<Vec<u8>> = missing.iter().map(|_| vec![0; size]).collect();
        let mut wanted: Vec<(usize, &mut [u8])> =
            missing.iter().map(number).zip(made.iter_mut().map(|bytes| &mut bytes[..])).collect();
        code.recover(len.into(), &sources, &parities, &mut wanted).ok()?;
        let mut added = 0;
        for (symbol, mut bytes) in missing.into_iter().zip(made) {
            let (_, exact) = partition.span(SourceBlockNumber(block), symbol)?;
            bytes.truncate(exact);
            added += bytes.len();
            kept.symbols.insert(symbol, bytes.into_boxed_slice());
        }
        Some(added)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u16 = 4;

    fn object(bytes: u64) -> Object {
        let mut object = Object::new(FecId::ReedSolomon8, ObjectFlags(ObjectFlags::FILE));
        object.learn(Some(Fti {
            object_size: bytes,
            field: FieldSize::M8,
            segment_size: 10,
            max_block_len: LEN,
            num_parity: 3,
        }));
        object
    }

    #[test]
    fn what_was_lost_is_made_of_parity_and_has_its_own_length() {
        let mut full = object(36);
        for symbol in 0..LEN {
            let len = if symbol == 3 { 6 } else { 10 };
            full.insert(0, symbol, &vec![symbol as u8 + 1; len]);
        }
        let (parity, _) = full.symbol(0, LEN);
        let mut lossy = object(36);
        for symbol in 0..3 {
            lossy.insert(0, symbol, &[symbol as u8 + 1; 10]);
        }
        assert_eq!((lossy.deficit(0), lossy.symbol(0, 3)), (1, (None, 0)));
        lossy.insert(0, LEN, &parity.unwrap());
        assert_eq!(lossy.symbol(0, 3), (Some(vec![4; 6]), 6));
        assert_eq!(lossy.symbol(0, LEN + 2), full.symbol(0, LEN + 2));
        assert_eq!(lossy.symbol(0, LEN + 3).0, None, "there is no such parity");
    }
}
