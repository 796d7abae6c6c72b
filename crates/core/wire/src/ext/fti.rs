//! EXT_FTI: FEC object transmission information (RFC 5740 4.2.1; RFC 5510, 5445).
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   het = 64    |      hel      |   object_size (high 16 bits)  |
//! +---------------+---------------+-------------------------------+
//! |                   object_size (low 32 bits)                   |
//! +-------------------------------+---------------+---------------+
//! |         segment_size          | max_block_len |  num_parity   |  id 5, hel 3
//! +-------------------------------+---------------+---------------+
//!
//! +---------------+---------------+-------------------------------+
//! |       m       |       G       |         segment_size          |  id 2, hel 4
//! +---------------+---------------+-------------------------------+
//! |         max_block_len         |          num_parity           |
//! +-------------------------------+-------------------------------+
//!
//! +-------------------------------+-------------------------------+
//! |       fec_instance_id         |         segment_size          |  id 129, hel 4
//! +-------------------------------+-------------------------------+
//! |         max_block_len         |          num_parity           |
//! +-------------------------------+-------------------------------+
//! ```

use crate::{FecId, FieldSize, WireError};
use alloc::vec::Vec;
use core::fmt;

/// What a receiver must know to cut an object into blocks and decode it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fti {
    /// Bytes of the object, below 2^48.
    pub object_size: u64,
    /// Field size; always `M8` but for encoding id 2.
    pub field: FieldSize,
    /// Bytes of a full segment.
    pub segment_size: u16,
    /// Most source symbols in a block.
    pub max_block_len: u16,
    /// Parity symbols a block can have. (RFC 5510 has the sum of both in id 5; NRL sends this.)
    pub num_parity: u16,
}

impl Fti {
    /// Header extension type.
    pub const HET: u8 = 64;

    /// Bytes on the wire in the form of `fec_id`.
    #[must_use]
    pub const fn wire_len(fec_id: FecId) -> usize {
        match fec_id {
            FecId::ReedSolomon8 => 12,
            FecId::ReedSolomonM | FecId::SmallBlockSystematic => 16,
        }
    }

    /// From the bytes behind type and length.
    ///
    /// # Errors
    /// [`WireError::ExtensionSize`] for a length that `fec_id` does not give it;
    /// [`WireError::Value`] for a segment or block of nothing and for a code we do not have.
    pub(super) fn read(content: &[u8], fec_id: FecId) -> Result<Self, WireError> {
        let wrong_size = WireError::ExtensionSize { het: Self::HET, bytes: content.len() + 2 };
        let Some((&[a, b, c, d, e, f], form)) = content.split_first_chunk() else {
            return Err(wrong_size);
        };
        let object_size = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        let (field, [s0, s1], [k0, k1], [p0, p1]) = match (fec_id, form) {
            (FecId::ReedSolomon8, &[s0, s1, k, p]) => (FieldSize::M8, [s0, s1], [0, k], [0, p]),
            (FecId::ReedSolomonM, &[m, g, s0, s1, k0, k1, p0, p1]) => {
                (read_field(m, g)?, [s0, s1], [k0, k1], [p0, p1])
            }
            (FecId::SmallBlockSystematic, &[i0, i1, s0, s1, k0, k1, p0, p1]) => {
                check("fec_instance_id", u16::from_be_bytes([i0, i1]), |instance| instance == 0)?;
                (FieldSize::M8, [s0, s1], [k0, k1], [p0, p1])
            }
            _ => return Err(wrong_size),
        };
        let not_zero = |value| value != 0;
        Ok(Self {
            object_size,
            field,
            segment_size: check("segment_size", u16::from_be_bytes([s0, s1]), not_zero)?,
            max_block_len: check("max_block_len", u16::from_be_bytes([k0, k1]), not_zero)?,
            num_parity: u16::from_be_bytes([p0, p1]),
        })
    }

    /// Appends the extension in the form of `fec_id`.
    ///
    /// # Panics
    /// When a number does not fit its field: an object of 2^48 bytes or more, or, for encoding
    /// id 5, a block or its parity of more than 255 symbols.
    pub fn append(&self, fec_id: FecId, out: &mut Vec<u8>) {
        assert!(self.object_size < 1 << 48, "object of {} bytes", self.object_size);
        out.extend_from_slice(&[Self::HET, (Self::wire_len(fec_id) / 4) as u8]);
        out.extend_from_slice(&self.object_size.to_be_bytes()[2..]);
        match fec_id {
            FecId::ReedSolomon8 => {
                let (k, p) = (self.max_block_len, self.num_parity);
                assert!(k <= 255 && p <= 255, "encoding id 5 with {k}+{p} symbols");
                out.extend_from_slice(&self.segment_size.to_be_bytes());
                out.extend_from_slice(&[k as u8, p as u8]);
                return;
            }
            FecId::ReedSolomonM if self.field == FieldSize::M8 => out.extend_from_slice(&[8, 1]),
            FecId::ReedSolomonM => out.extend_from_slice(&[16, 1]),
            FecId::SmallBlockSystematic => out.extend_from_slice(&[0, 0]),
        }
        for field in [self.segment_size, self.max_block_len, self.num_parity] {
            out.extend_from_slice(&field.to_be_bytes());
        }
    }
}

/// `m` and `G` of encoding id 2; zero stands for the default (RFC 5510 4.2).
fn read_field(m: u8, g: u8) -> Result<FieldSize, WireError> {
    check("G", g.into(), |g| g <= 1)?;
    match m {
        0 | 8 => Ok(FieldSize::M8),
        16 => Ok(FieldSize::M16),
        _ => Err(WireError::Value { what: "m", value: m.into() }),
    }
}

fn check(what: &'static str, value: u16, allowed: fn(u16) -> bool) -> Result<u16, WireError> {
    if allowed(value) { Ok(value) } else { Err(WireError::Value { what, value: value.into() }) }
}

impl fmt::Display for Fti {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object_size, field, segment_size, max_block_len, num_parity } = self;
        let m = if *field == FieldSize::M8 { 8 } else { 16 };
        write!(
            f,
            "fti(size {object_size} segment {segment_size} k {max_block_len} p {num_parity} m {m})"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FTI: Fti = Fti {
        object_size: 0x0102_0304_0506,
        field: FieldSize::M8,
        segment_size: 1400,
        max_block_len: 64,
        num_parity: 8,
    };

    #[test]
    fn each_encoding_id_has_its_own_form() {
        let head = [1, 2, 3, 4, 5, 6];
        let forms: [(FecId, Fti, &[u8]); 4] = [
            (FecId::ReedSolomon8, FTI, &[0x05, 0x78, 64, 8]),
            (FecId::ReedSolomonM, FTI, &[8, 1, 0x05, 0x78, 0, 64, 0, 8]),
            (
                FecId::ReedSolomonM,
                Fti { field: FieldSize::M16, ..FTI },
                &[16, 1, 0x05, 0x78, 0, 64, 0, 8],
            ),
            (FecId::SmallBlockSystematic, FTI, &[0, 0, 0x05, 0x78, 0, 64, 0, 8]),
        ];
        for (fec_id, fti, tail) in forms {
            let mut out = Vec::new();
            fti.append(fec_id, &mut out);
            assert_eq!(out.len(), Fti::wire_len(fec_id));
            assert_eq!(out[..2], [64, (out.len() / 4) as u8]);
            assert_eq!((&out[2..8], &out[8..]), (&head[..], tail));
            assert_eq!(Fti::read(&out[2..], fec_id), Ok(fti));
        }
    }

    #[test]
    fn the_form_of_another_encoding_id_is_refused() {
        let mut out = Vec::new();
        FTI.append(FecId::ReedSolomon8, &mut out);
        for fec_id in [FecId::ReedSolomonM, FecId::SmallBlockSystematic] {
            let error = Fti::read(&out[2..], fec_id);
            assert_eq!(error, Err(WireError::ExtensionSize { het: 64, bytes: 12 }));
        }
    }

    #[test]
    fn segments_and_blocks_of_nothing_and_unknown_codes_are_refused() {
        let refused = |fec_id, content: &[u8], what, value| {
            assert_eq!(Fti::read(content, fec_id), Err(WireError::Value { what, value }));
        };
        refused(FecId::ReedSolomon8, &[0, 0, 0, 0, 0, 9, 0, 0, 4, 2], "segment_size", 0);
        refused(FecId::ReedSolomon8, &[0, 0, 0, 0, 0, 9, 1, 0, 0, 2], "max_block_len", 0);
        refused(FecId::ReedSolomonM, &[0, 0, 0, 0, 0, 9, 7, 1, 1, 0, 0, 4, 0, 2], "m", 7);
        refused(FecId::ReedSolomonM, &[0, 0, 0, 0, 0, 9, 8, 2, 1, 0, 0, 4, 0, 2], "G", 2);
        let instance = [0, 0, 0, 0, 0, 9, 0, 3, 1, 0, 0, 4, 0, 2];
        refused(FecId::SmallBlockSystematic, &instance, "fec_instance_id", 3);
    }
}
