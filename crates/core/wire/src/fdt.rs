//! A packet of a file delivery table (FDT) instance, by which a FLUTE receiver learns what an object
//! is (RFC 6726 3.4.1).
//!
//! It is an ALC packet of object 0, sent as it is, without a code (FEC encoding id 0, RFC 5445): the
//! instance is one source block, and its transfer length and symbols stand in each packet. Receivers
//! of ours pass it over, as its codepoint is not RaptorQ's.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------------------------------------------------------+
//! |     LCT header as of other packets, codepoint 0, TOI 0 (28)   |
//! +---------------+-------+---------------------------------------+
//! |   HET = 192   | V = 2 |           FDT instance id             |
//! +---------------+-------+-------+-------------------------------+
//! |    HET = 64   |    HEL = 4    |                               |
//! +---------------+---------------+       transfer length         +
//! |                               |                               |
//! +-------------------------------+-------------------------------+
//! |           reserved            |         symbol length         |
//! +-------------------------------+-------------------------------+
//! |             most symbols that a source block has              |
//! +-------------------------------+-------------------------------+
//! |       source block = 0        |       encoding symbol id      |
//! +-------------------------------+-------------------------------+
//! |              a part of the instance, which is XML             |
//! +---------------------------------------------------------------+
//! ```

use crate::alc;
use alloc::vec::Vec;

/// Words of the header: EXT_FDT has one, EXT_FTI four.
const WORDS: u8 = alc::WORDS + 1 + 4;
/// Compact no-code (RFC 5445 3).
const NO_CODE: u8 = 0;
/// Header extension types (RFC 6726 3.4.1, RFC 5775 2.3), and the length of the second in words.
const EXT_FDT: u32 = 192;
const EXT_FTI: [u8; 2] = [64, 4];
/// FLUTE's version in RFC 6726.
const VERSION: u32 = 2;
/// Instance ids have 20 bits.
const INSTANCE_MASK: u32 = 0x000f_ffff;

/// A packet of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fdt<'a> {
    /// The session (TSI).
    pub session: u32,
    /// The instance, 20 bits: another one for other content.
    pub instance: u32,
    /// Bytes of the whole instance, 48 bits.
    pub length: u64,
    /// Bytes of its symbols, of which the last may be shorter.
    pub symbol: u16,
    /// Which symbol this is, from 0.
    pub number: u16,
    /// The symbol.
    pub content: &'a [u8],
}

impl Fdt<'_> {
    /// Bytes before the symbol.
    pub const HEADER: usize = WORDS as usize * 4 + 4;

    /// Appends it. It is of no layer, so its congestion control information is zero.
    pub fn encode(&self, out: &mut Vec<u8>) {
        alc::begin(out, 0, (WORDS, NO_CODE), [0; 16], (self.session, 0));
        let instance = EXT_FDT << 24 | VERSION << 20 | self.instance & INSTANCE_MASK;
        out.extend(instance.to_be_bytes());
        out.extend(EXT_FTI);
        // 48 bits of length, 16 reserved.
        out.extend((self.length << 16).to_be_bytes());
        out.extend(self.symbol.to_be_bytes());
        let symbols = self.length.div_ceil(u64::from(self.symbol.max(1)));
        out.extend(u32::try_from(symbols).unwrap_or(u32::MAX).to_be_bytes());
        out.extend(u32::from(self.number).to_be_bytes());
        out.extend(self.content);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Alc, WireError};

    fn bytes() -> Vec<u8> {
        let mut out = Vec::new();
        let content = b"<FDT";
        Fdt { session: 0x0102_0304, instance: 5, length: 9, symbol: 4, number: 1, content }
            .encode(&mut out);
        out
    }

    #[test]
    fn a_packet_is_laid_out_as_the_rfcs_have_it() {
        let golden = [
            &[0x1c, 0xa0, 12, 0][..],                           // LCT, no code
            &[0; 16],                                           // of no layer
            &[1, 2, 3, 4, 0, 0, 0, 0],                          // TSI, TOI 0
            &[192, 0x20, 0, 5],                                 // EXT_FDT
            &[64, 4, 0, 0, 0, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0, 3], // EXT_FTI
            &[0, 0, 0, 1],                                      // payload id
            b"<FDT",
        ]
        .concat();
        assert_eq!(bytes(), golden);
        assert_eq!(golden.len(), Fdt::HEADER + 4);
    }

    #[test]
    fn a_receiver_of_ours_does_not_take_it_for_a_symbol() {
        assert_eq!(Alc::parse(&bytes()), Err(WireError::UnknownFecId(0)));
    }
}
