//! The session's erasure code: payload ids of symbols, and how many symbols a block can have.

use crate::{
    config::{FecConfig, SenderConfig},
    fti,
    partition::Partition,
    sender::object::TransmitObject,
    stream::layout,
};
use fanfare_fec::{Code, Field, Matrix};
use fanfare_wire::{
    EncodingSymbolId, FecId, FecPayloadId, FieldSize, SourceBlockNumber, ext::Fti,
    fec::RawPayloadId,
};

/// Bits of an object's size on the wire.
const OBJECT_SIZE_MAX: u64 = (1 << 48) - 1;

/// The code with its parameters brought within what the field and the wire allow.
#[derive(Debug)]
pub(in crate::sender) struct Coding {
    pub(in crate::sender) fec_id: FecId,
    pub(in crate::sender) field: FieldSize,
    matrix: Matrix,
    /// Source symbols of a full block.
    pub(in crate::sender) source: u16,
    /// Parity symbols a block can have.
    pub(in crate::sender) parity: u16,
    /// Of those, sent without a request.
    pub(in crate::sender) proactive: u16,
    /// Bytes of a full segment of objects that are taken from now on.
    pub(in crate::sender) segment_size: u16,
    pub(in crate::sender) code: Option<Code>,
}

impl Coding {
    /// Parameters beyond the field's limits are cut: source first, then parity. Segments of
    /// GF(2^16) are made even.
    pub(in crate::sender) fn new(config: &SenderConfig) -> Self {
        let FecConfig { id, field, matrix, source, parity, proactive } = config.fec;
        let field = if id == FecId::ReedSolomonM { field } else { FieldSize::M8 };
        let (gf, limit) = match field {
            FieldSize::M8 => (Field::Gf8, 255),
            FieldSize::M16 => (Field::Gf16, 65535),
        };
        let source = source.clamp(1, limit);
        let parity = parity.min(limit - source);
        let segment_size = whole_words(field, config.segment_size);
        Self {
            fec_id: id,
            field,
            matrix,
            source,
            parity,
            proactive: proactive.min(parity),
            segment_size,
            code: Code::new(gf, matrix, usize::from(source), usize::from(parity)).ok(),
        }
    }

    /// Objects that are taken from now on have segments of this size.
    pub(in crate::sender) fn set_segment_size(&mut self, size: u16) {
        self.segment_size = whole_words(self.field, size);
    }

    /// Blocks that can be numbered.
    pub(in crate::sender) fn block_limit(&self) -> u64 {
        layout::block_space(self.fec_id, self.field)
    }

    /// Largest object, bytes.
    pub(in crate::sender) fn object_limit(&self) -> u64 {
        let blocks = self.block_limit().min(u64::from(u32::MAX));
        (blocks * u64::from(self.source) * u64::from(self.segment_size)).min(OBJECT_SIZE_MAX)
    }

    /// The structure of an object of `size` bytes; `None` when it is too large.
    pub(in crate::sender) fn partition(&self, size: u64) -> Option<Partition> {
        let limit = self.block_limit();
        let fits = size <= self.object_limit();
        fits.then(|| Partition::new(size, self.segment_size, self.source, limit).ok()).flatten()
    }

    /// A symbol's name on the wire.
    pub(in crate::sender) fn payload_id(
        &self,
        block: u32,
        block_len: u16,
        symbol: u16,
    ) -> RawPayloadId {
        self.pack(FecPayloadId {
            block: SourceBlockNumber(block),
            block_len,
            symbol: EncodingSymbolId(symbol),
        })
    }

    /// `id` on the wire.
    pub(in crate::sender) fn pack(&self, id: FecPayloadId) -> RawPayloadId {
        RawPayloadId::pack(self.fec_id, self.field, id)
    }

    /// EXT_FTI of an object, as it travels.
    pub(in crate::sender) fn fti(&self, object: &TransmitObject) -> Fti {
        let meant = Fti {
            object_size: object.told_size(),
            field: self.field,
            segment_size: object.told_segment(),
            max_block_len: self.source,
            num_parity: self.parity,
        };
        fti::to_wire(self.fec_id, self.matrix, meant)
    }
}

/// Symbols of GF(2^16) are 16-bit words, so that their segments are even.
fn whole_words(field: FieldSize, segment_size: u16) -> u16 {
    match field {
        FieldSize::M8 => segment_size.max(1),
        FieldSize::M16 => (segment_size & !1).max(2),
    }
}

#[cfg(test)]
pub(in crate::sender) mod tests {
    use super::*;

    pub(in crate::sender) fn coding(source: u16, parity: u16, proactive: u16) -> Coding {
        let fec = FecConfig { source, parity, proactive, ..FecConfig::default() };
        Coding::new(&SenderConfig { segment_size: 10, fec, ..SenderConfig::default() })
    }

    #[test]
    fn a_block_never_has_more_symbols_than_the_field() {
        let coding = coding(200, 200, 100);
        assert_eq!((coding.source, coding.parity, coding.proactive), (200, 55, 55));
        assert!(coding.code.is_some());
    }

    #[test]
    fn segments_of_sixteen_bit_symbols_are_even() {
        let fec =
            FecConfig { id: FecId::ReedSolomonM, field: FieldSize::M16, ..Default::default() };
        let config = SenderConfig { segment_size: 1401, fec, ..SenderConfig::default() };
        assert_eq!(Coding::new(&config).segment_size, 1400);
    }

    #[test]
    fn an_object_that_cannot_be_numbered_is_too_large() {
        let coding = coding(2, 0, 0);
        assert!(coding.partition(coding.object_limit()).is_some());
        assert!(coding.partition(coding.object_limit() + 1).is_none());
    }
}
