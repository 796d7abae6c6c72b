//! What EXT_FTI says of an object, checked against this receiver's limits (RFC 5740 4.2.1, RFC
//! 5052).

use crate::{
    config::ReceiverConfig, fti, partition::Partition, storage::ObjectKind, stream::layout,
};
use fanfare_fec::Field;
use fanfare_wire::{
    EncodingSymbolId, FecId, FecPayloadId, FieldSize, ObjectFlags, STREAM_HEADER,
    SourceBlockNumber, ext::Fti,
};

/// Segment size of an object of no bytes, where nobody tells one.
const SEGMENT_OF_NOTHING: u16 = 1400;

/// An object's structure and code, within our limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) fec_id: FecId,
    pub(crate) fti: Fti,
    pub(crate) kind: ObjectKind,
    pub(crate) partition: Partition,
    /// Parity symbols of a block that can serve for decoding here: all or none.
    pub(crate) parity: u16,
}

/// A symbol's place, once it is known to be one that the object has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Source symbol at `offset`, of exactly `bytes`.
    Source { offset: u64, bytes: usize },
    /// Parity symbol, counted from 0.
    Parity { number: u16 },
}

impl Format {
    /// `None` when the object passes a limit or contradicts itself. Allocates nothing.
    pub(crate) fn new(
        fec_id: FecId,
        fti: Fti,
        flags: ObjectFlags,
        config: &ReceiverConfig,
    ) -> Option<Self> {
        let fti = fti::from_wire(fec_id, config.matrix, fti)?;
        let symbols = u32::from(fti.max_block_len) + u32::from(fti.num_parity);
        let kind = kind_of(flags);
        // What a stream says of its size is a promise to repair, not a length.
        let within = fti.segment_size <= config.segment_size_max
            && (kind == ObjectKind::Stream || fti.object_size <= config.object_size_max)
            && symbols as usize <= field(fti.field).max_symbols();
        if !within {
            return None;
        }
        let blocks = layout::block_space(fec_id, fti.field);
        let partition = match kind {
            ObjectKind::Stream => {
                let slot = fti.segment_size.checked_add(STREAM_HEADER as u16)?;
                Partition::stream(slot, Some(fti.max_block_len).filter(|len| *len > 0)?)
            }
            _ => {
                let (segment, len) = (fti.segment_size, fti.max_block_len);
                Partition::new(fti.object_size, segment, len, blocks).ok()?
            }
        };
        let parity = if decodable(&fti, config) { fti.num_parity } else { 0 };
        Some(Self { fec_id, fti, kind, partition, parity })
    }

    /// Of an object of no bytes. Its segments and code do not matter.
    pub(crate) fn empty(fec_id: FecId, config: &ReceiverConfig) -> Option<Self> {
        let field = match fec_id {
            FecId::ReedSolomonM => FieldSize::M16,
            FecId::ReedSolomon8 | FecId::SmallBlockSystematic => FieldSize::M8,
        };
        let segment_size = config.segment_size_max.clamp(1, SEGMENT_OF_NOTHING);
        let fti = Fti { object_size: 0, field, segment_size, max_block_len: 1, num_parity: 1 };
        Self::new(fec_id, fti, ObjectFlags(ObjectFlags::INFO), config)
    }

    /// Where a symbol of `bytes` belongs; `None` when the object has no such symbol.
    ///
    /// A source symbol has exactly its length; one of a stream a header and no more than a segment. Parity may be shorter than a segment (NRL's is as
    /// long as the longest source symbol of the block) or up to 8 bytes longer (the stream header).
    pub(crate) fn place(&self, id: FecPayloadId, bytes: usize) -> Option<Place> {
        let len = self.partition.block_len(id.block);
        let symbol = id.symbol.0;
        if symbol < len {
            let (offset, expected) = self.partition.span(id.block, symbol)?;
            if self.kind == ObjectKind::Stream {
                let fits = (STREAM_HEADER..=expected).contains(&bytes);
                return fits.then_some(Place::Source { offset, bytes });
            }
            return (bytes == expected).then_some(Place::Source { offset, bytes });
        }
        let number = symbol - len;
        // Half a field element would make the last byte wrong.
        let whole = bytes.is_multiple_of(self.field().element_size());
        let fits = whole && bytes <= usize::from(self.fti.segment_size) + 8;
        (len > 0 && number < self.fti.num_parity && fits).then_some(Place::Parity { number })
    }

    /// Names `symbol` of `block` as requests do: with the block's length where that travels.
    pub(crate) fn name(&self, block: u32, symbol: u16) -> FecPayloadId {
        let block = SourceBlockNumber(block);
        let block_len = match self.fec_id {
            FecId::SmallBlockSystematic => self.partition.block_len(block),
            FecId::ReedSolomonM | FecId::ReedSolomon8 => 0,
        };
        FecPayloadId { block, block_len, symbol: EncodingSymbolId(symbol) }
    }

    pub(crate) fn field(&self) -> Field {
        field(self.fti.field)
    }
}

/// The kind of object that a message says it is. The flag of a stream counts before that of a file (RFC
/// 5740 4.2.1).
pub(crate) fn kind_of(flags: ObjectFlags) -> ObjectKind {
    match (flags.has(ObjectFlags::STREAM), flags.has(ObjectFlags::FILE)) {
        (true, _) => ObjectKind::Stream,
        (false, true) => ObjectKind::File,
        (false, false) => ObjectKind::Data,
    }
}

fn field(size: FieldSize) -> Field {
    match size {
        FieldSize::M8 => Field::Gf8,
        FieldSize::M16 => Field::Gf16,
    }
}

/// Whether parity is of use. Not over GF(2^16) with an odd segment: NRL cuts the last field element
/// of each parity symbol in half, so the last byte of what is recovered would be wrong; such objects
/// are repaired by explicit source symbols. Nor for a block that does not fit into the buffer.
fn decodable(fti: &Fti, config: &ReceiverConfig) -> bool {
    let odd = fti.field == FieldSize::M16 && !fti.segment_size.is_multiple_of(2);
    let block = usize::from(fti.segment_size) * usize::from(fti.max_block_len);
    !odd && block <= config.buffer_max
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Object of `size` bytes, segments of `segment`, blocks of 4 + 2.
    pub(crate) fn small(size: u64, segment: u16) -> Fti {
        Fti {
            object_size: size,
            field: FieldSize::M8,
            segment_size: segment,
            max_block_len: 4,
            num_parity: 2,
        }
    }

    fn format(fti: Fti) -> Option<Format> {
        Format::new(FecId::ReedSolomon8, fti, ObjectFlags(0), &ReceiverConfig::default())
    }

    fn id(block: u32, symbol: u16) -> FecPayloadId {
        FecPayloadId {
            block: SourceBlockNumber(block),
            block_len: 0,
            symbol: EncodingSymbolId(symbol),
        }
    }

    #[test]
    fn an_object_beyond_any_limit_is_refused() {
        assert!(format(small(100, 10)).is_some());
        assert!(format(Fti { segment_size: 65000, max_block_len: 30000, ..small(9, 9) }).is_none());
        assert!(format(Fti { max_block_len: 254, ..small(100, 10) }).is_none());
        assert!(format(Fti { segment_size: 0, ..small(100, 10) }).is_none());
        assert!(format(Fti { max_block_len: 0, ..small(100, 10) }).is_none());
        assert!(format(Fti { object_size: 1 << 40, ..small(0, 1) }).is_none());
    }

    #[test]
    fn source_symbols_have_exactly_their_length() {
        let format = format(small(95, 10)).unwrap();
        let whole = Some(Place::Source { offset: 0, bytes: 10 });
        assert_eq!((format.place(id(0, 0), 10), format.place(id(0, 0), 9)), (whole, None));
        let tail = Some(Place::Source { offset: 90, bytes: 5 });
        assert_eq!((format.place(id(2, 2), 5), format.place(id(2, 2), 10)), (tail, None));
        assert_eq!(format.place(id(3, 0), 10), None);
    }

    #[test]
    fn parity_is_counted_from_the_end_of_a_shortened_block() {
        let format = format(small(95, 10)).unwrap();
        assert_eq!(format.partition.block_len(SourceBlockNumber(2)), 3);
        assert_eq!(format.place(id(2, 3), 10), Some(Place::Parity { number: 0 }));
        assert_eq!(format.place(id(2, 5), 10), None);
        assert_eq!(format.place(id(0, 4), 19), None);
    }

    #[test]
    fn an_odd_segment_over_gf16_cannot_be_decoded() {
        let fti = Fti { field: FieldSize::M16, ..small(1000, 11) };
        let parity = |fti| {
            let config = ReceiverConfig::default();
            Format::new(FecId::ReedSolomonM, fti, ObjectFlags(0), &config).unwrap().parity
        };
        assert_eq!((parity(fti), parity(Fti { segment_size: 12, ..fti })), (0, 2));
    }
}
