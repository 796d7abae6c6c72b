//! FEC encoding ids and the payload ids that go with them (RFC 5052, 5445, 5510).

use crate::{EncodingSymbolId, SourceBlockNumber, WireError};
use core::fmt;

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
    /// From the number on the wire.
    ///
    /// # Errors
    /// [`WireError::UnknownFecId`] for all but 2, 5 and 129.
    pub const fn from_byte(byte: u8) -> Result<Self, WireError> {
        match byte {
            2 => Ok(Self::ReedSolomonM),
            5 => Ok(Self::ReedSolomon8),
            129 => Ok(Self::SmallBlockSystematic),
            unknown => Err(WireError::UnknownFecId(unknown)),
        }
    }
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
    /// Packs `id` in the form of `fec_id` (and `field`, for encoding id 2). Numbers wider than
    /// their field lose their high bits: a stream's block number wraps there (RFC 5740 4.2.1).
    #[must_use]
    pub fn pack(fec_id: FecId, field: FieldSize, id: FecPayloadId) -> Self {
        let (block, symbol) = (id.block.0, id.symbol.0);
        let word = match (fec_id, field) {
            (FecId::ReedSolomonM, FieldSize::M16) => block << 16 | u32::from(symbol),
            (FecId::ReedSolomonM | FecId::ReedSolomon8, _) => block << 8 | u32::from(symbol) & 0xff,
            (FecId::SmallBlockSystematic, _) => block,
        };
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&word.to_be_bytes());
        if fec_id == FecId::SmallBlockSystematic {
            bytes[4..6].copy_from_slice(&id.block_len.to_be_bytes());
            bytes[6..].copy_from_slice(&symbol.to_be_bytes());
        }
        Self { fec_id, bytes }
    }
    /// From the bytes on the wire, of which there must be [`FecId::payload_id_len`].
    ///
    /// # Errors
    /// [`WireError::Truncated`] when there are fewer or more.
    pub fn from_bytes(fec_id: FecId, wire: &[u8]) -> Result<Self, WireError> {
        let need = fec_id.payload_id_len();
        if wire.len() != need {
            return Err(WireError::Truncated { what: "fec_payload_id", need, have: wire.len() });
        }
        let mut bytes = [0; 8];
        bytes[..need].copy_from_slice(wire);
        Ok(Self { fec_id, bytes })
    }
    /// Reads it, given the field size that encoding id 2 needs.
    #[must_use]
    pub fn unpack(&self, field: FieldSize) -> FecPayloadId {
        let [a, b, c, d, tail @ ..] = self.bytes;
        let word = u32::from_be_bytes([a, b, c, d]);
        let (block, block_len, symbol) = match (self.fec_id, field) {
            (FecId::ReedSolomonM, FieldSize::M16) => (word >> 16, 0, u16::from_be_bytes([c, d])),
            (FecId::ReedSolomonM | FecId::ReedSolomon8, _) => (word >> 8, 0, u16::from(d)),
            (FecId::SmallBlockSystematic, _) => {
                let [e, f, g, h] = tail;
                (word, u16::from_be_bytes([e, f]), u16::from_be_bytes([g, h]))
            }
        };
        let (block, symbol) = (SourceBlockNumber(block), EncodingSymbolId(symbol));
        FecPayloadId { block, block_len, symbol }
    }
    /// The bytes on the wire.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.fec_id.payload_id_len()]
    }
}

impl fmt::Display for FecId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_byte())
    }
}

/// `block:symbol`, with the block's length in parentheses where the encoding id has it. Encoding
/// id 2 says its bytes, since its field size is not known here.
impl fmt::Display for RawPayloadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FecPayloadId { block, block_len, symbol } = self.unpack(FieldSize::M8);
        match self.fec_id {
            FecId::ReedSolomon8 => write!(f, "{block}:{symbol}"),
            FecId::SmallBlockSystematic => write!(f, "{block}({block_len}):{symbol}"),
            FecId::ReedSolomonM => write!(f, "0x{:08x}", block.0 << 8 | u32::from(symbol.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: FecPayloadId = FecPayloadId {
        block: SourceBlockNumber(0x1234),
        block_len: 0x0040,
        symbol: EncodingSymbolId(0x56),
    };

    #[test]
    fn each_encoding_id_has_its_own_form() {
        let form = |fec_id, field| RawPayloadId::pack(fec_id, field, ID);
        let id5 = form(FecId::ReedSolomon8, FieldSize::M8);
        assert_eq!(id5.as_bytes(), [0x00, 0x12, 0x34, 0x56]);
        assert_eq!(form(FecId::ReedSolomonM, FieldSize::M8).as_bytes(), id5.as_bytes());
        let m16 = form(FecId::ReedSolomonM, FieldSize::M16);
        assert_eq!(m16.as_bytes(), [0x12, 0x34, 0x00, 0x56]);
        let id129 = form(FecId::SmallBlockSystematic, FieldSize::M8);
        assert_eq!(id129.as_bytes(), [0x00, 0x00, 0x12, 0x34, 0x00, 0x40, 0x00, 0x56]);
    }

    #[test]
    fn only_encoding_id_129_tells_the_block_length() {
        for fec_id in [FecId::ReedSolomonM, FecId::ReedSolomon8, FecId::SmallBlockSystematic] {
            for field in [FieldSize::M8, FieldSize::M16] {
                let block_len =
                    if fec_id == FecId::SmallBlockSystematic { ID.block_len } else { 0 };
                let read = RawPayloadId::pack(fec_id, field, ID).unpack(field);
                assert_eq!(read, FecPayloadId { block_len, ..ID });
            }
        }
    }

    #[test]
    fn a_block_number_wraps_in_its_field() {
        let id = FecPayloadId { block: SourceBlockNumber(0x0100_0002), ..ID };
        let raw = RawPayloadId::pack(FecId::ReedSolomon8, FieldSize::M8, id);
        assert_eq!(raw.unpack(FieldSize::M8).block, SourceBlockNumber(2));
    }

    #[test]
    fn encoding_ids_that_sessions_do_not_use_are_refused() {
        for byte in 0..=255 {
            match FecId::from_byte(byte) {
                Ok(id) => assert_eq!(id.to_byte(), byte),
                Err(error) => assert_eq!(error, WireError::UnknownFecId(byte)),
            }
        }
    }

    #[test]
    fn a_payload_id_of_the_wrong_length_is_refused() {
        let error = RawPayloadId::from_bytes(FecId::SmallBlockSystematic, &[0; 4]);
        assert_eq!(error, Err(WireError::Truncated { what: "fec_payload_id", need: 8, have: 4 }));
    }
}
