//! FEC encoding ids and the payload ids that go with them (RFC 5052, 5445, 5510).

use crate::{EncodingSymbolId, SourceBlockNumber};

/// How symbols are made and named. Everything else is unusable for NRL's code and for ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FecId {
    /// 2: Reed-Solomon over GF(2^m), m = 8 or 16 given by EXT_FTI.
    ReedSolomonM,
    /// 5: Reed-Solomon over GF(2^8).
    ReedSolomon8,
    /// 129: small block, systematic; Reed-Solomon over GF(2^8) as instance 0 in NRL's code.
    SmallBlockSystematic,
}

/// Field size of encoding id 2; the other ids have 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldSize {
    /// GF(2^8): 24-bit block, 8-bit symbol.
    M8,
    /// GF(2^16): 16-bit block, 16-bit symbol.
    M16,
}

impl FecId {
    /// The number on the wire.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        match self {
            Self::ReedSolomonM => 2,
            Self::ReedSolomon8 => 5,
            Self::SmallBlockSystematic => 129,
        }
    }
    /// Bytes of a payload id: 4, or 8 for id 129.
    #[must_use]
    pub const fn payload_id_len(self) -> usize {
        match self {
            Self::ReedSolomonM | Self::ReedSolomon8 => 4,
            Self::SmallBlockSystematic => 8,
        }
    }
}

/// Names one symbol of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FecPayloadId {
    /// Source block.
    pub block: SourceBlockNumber,
    /// Source symbols in that block; travels in id 129 only, zero elsewhere.
    pub block_len: u16,
    /// Symbol in the block.
    pub symbol: EncodingSymbolId,
}

/// A payload id as it stood in the message: 4 or 8 bytes. Encoding id 2 can only be read once
/// EXT_FTI has told the field size, so reading is a second step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPayloadId {
    /// The encoding id that gives its form.
    pub fec_id: FecId,
    bytes: [u8; 8],
}

impl RawPayloadId {
    /// Packs `id` in the form of `fec_id` (and `field`, for encoding id 2).
    #[must_use]
    pub fn pack(fec_id: FecId, field: FieldSize, id: FecPayloadId) -> Self {
        let _ = (field, id);
        Self { fec_id, bytes: [0; 8] }
    }
    /// Reads it, given the field size that encoding id 2 needs.
    #[must_use]
    pub fn unpack(&self, field: FieldSize) -> FecPayloadId {
        let _ = field;
        todo!()
    }
    /// The bytes on the wire.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.fec_id.payload_id_len()]
    }
}
