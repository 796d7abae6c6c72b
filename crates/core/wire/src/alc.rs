//! A packet of asynchronous layered coding: an LCT header with a symbol behind it (RFC 5651, 5775).
//!
//! Layers have groups of their own, on which there is no NORM. Of what RFC 5651 leaves open this is
//! one form: congestion control information of 128 bits, session and object of 32 bits each, RaptorQ's
//! payload id (RFC 6330 3.2). A NORM node that hears one takes it for a message of an unknown type:
//! both have version 1 first, and the next four bits are 12 here.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------+---+---+-+---+-+---+-+-+---------------+---------------+
//! | ver=1 |C=3|PSI|1| 1 |0|Res|A|B|  hdr_len = 7+ | codepoint = 6 |
//! +-------+---+---+-+---+-+---+-+-+---------------+---------------+
//! |      congestion control information (16 bytes)                |
//! +---------------------------------------------------------------+
//! |            transport session identifier (TSI)                 |
//! +---------------------------------------------------------------+
//! |             transport object identifier (TOI)                 |
//! +---------------------------------------------------------------+
//! |          header extensions, none here; passed over            |
//! +---------------+-----------------------------------------------+
//! | source block  |            encoding symbol id                 |
//! +---------------+-----------------------------------------------+
//! |                            symbol                             |
//! +---------------------------------------------------------------+
//! ```
//!
//! The last packet of a session carries nothing: it ends behind the TSI (RFC 5775 4.1, RFC 6726 3.1).

use crate::WireError;
use alloc::vec::Vec;
use core::fmt;

/// Version 1, 128 bits of congestion control information.
const FIRST: u8 = 1 << 4 | 3 << 2;
/// TSI and TOI of 32 bits, no half words.
const SIZES: u8 = 1 << 7 | 1 << 5;
/// TSI of 32 bits and no TOI: the form of a packet that only closes the session.
const NO_OBJECT: u8 = 1 << 7;
/// Close session, and close object (RFC 5651 5.1).
const CLOSE_SESSION: u8 = 1 << 1;
const CLOSE_OBJECT: u8 = 1;
/// RaptorQ's FEC encoding id, which the codepoint is where there is no other agreement (RFC 5775 2.1).
const RAPTORQ: u8 = 6;
/// Words of the header without extensions.
pub(crate) const WORDS: u8 = 7;
/// Encoding symbol ids have 24 bits (RFC 6330 3.2).
const SYMBOL_MASK: u32 = 0x00ff_ffff;

/// A parsed packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alc<'a> {
    /// Congestion control information, as the session's controllers have it.
    pub congestion: [u8; 16],
    /// The session (TSI).
    pub session: u32,
    /// The object (TOI).
    pub object: u32,
    /// Nothing more will come of the session.
    pub closes_session: bool,
    /// Source block of the symbol.
    pub block: u8,
    /// Its encoding symbol id.
    pub symbol: u32,
    /// The symbol.
    pub content: &'a [u8],
}

impl<'a> Alc<'a> {
    /// Bytes before the symbol.
    pub const HEADER: usize = WORDS as usize * 4 + 4;
    /// The code of the symbols: RaptorQ's FEC encoding id.
    pub const FEC_ID: u8 = RAPTORQ;

    /// Reads one.
    ///
    /// # Errors
    /// When it is cut short, of another form or of another code.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, WireError> {
        let truncated =
            WireError::Truncated { what: "ALC packet", need: Self::HEADER, have: datagram.len() };
        let (&[first, sizes, words, codepoint], rest) =
            datagram.split_first_chunk().ok_or(truncated)?;
        if first >> 4 != FIRST >> 4 {
            return Err(WireError::Version(first >> 4));
        }
        let form = |what, value: u8| Err(WireError::Value { what, value: value.into() });
        if first & 0x0f != FIRST & 0x0f {
            return form("LCT flags", first);
        }
        if sizes & 0b1111_0000 == NO_OBJECT && sizes & CLOSE_SESSION != 0 {
            return Self::parse_close(words, rest, truncated);
        }
        if sizes & 0b1111_0000 != SIZES {
            return form("LCT identifier sizes", sizes);
        }
        if codepoint != RAPTORQ {
            return Err(WireError::UnknownFecId(codepoint));
        }
        let length = usize::from(words) * 4;
        let (Some((_, behind)), WORDS..) = (datagram.split_at_checked(length), words) else {
            let base = usize::from(WORDS) * 4;
            return Err(WireError::HeaderLength { words, base, have: datagram.len() });
        };
        let (congestion, rest) = rest.split_first_chunk().ok_or(truncated)?;
        let (session, rest) = rest.split_first_chunk().ok_or(truncated)?;
        let (object, _) = rest.split_first_chunk().ok_or(truncated)?;
        let (payload_id, content) = behind.split_first_chunk().ok_or(truncated)?;
        let payload_id = u32::from_be_bytes(*payload_id);
        Ok(Self {
            congestion: *congestion,
            session: u32::from_be_bytes(*session),
            object: u32::from_be_bytes(*object),
            closes_session: sizes & CLOSE_SESSION != 0,
            block: (payload_id >> 24) as u8,
            symbol: payload_id & SYMBOL_MASK,
            content,
        })
    }

    /// What only closes the session: nothing is behind its TSI.
    fn parse_close(words: u8, rest: &'a [u8], truncated: WireError) -> Result<Self, WireError> {
        if words < WORDS - 1 {
            let base = usize::from(WORDS - 1) * 4;
            return Err(WireError::HeaderLength { words, base, have: rest.len() });
        }
        let (congestion, rest) = rest.split_first_chunk().ok_or(truncated)?;
        let (session, _) = rest.split_first_chunk().ok_or(truncated)?;
        Ok(Self::close(*congestion, u32::from_be_bytes(*session)))
    }

    /// The last packet of a session.
    #[must_use]
    pub fn close(congestion: [u8; 16], session: u32) -> Self {
        Self {
            congestion,
            session,
            object: 0,
            closes_session: true,
            block: 0,
            symbol: 0,
            content: &[],
        }
    }

    /// Appends it. What closes the session and has no symbol has no object either.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if self.closes_session && self.content.is_empty() {
            out.extend([FIRST, NO_OBJECT | CLOSE_SESSION, WORDS - 1, RAPTORQ]);
            out.extend(self.congestion);
            out.extend(self.session.to_be_bytes());
            return;
        }
        let close = if self.closes_session { CLOSE_SESSION | CLOSE_OBJECT } else { 0 };
        begin(out, close, (WORDS, RAPTORQ), self.congestion, (self.session, self.object));
        let payload_id = u32::from(self.block) << 24 | self.symbol & SYMBOL_MASK;
        out.extend(payload_id.to_be_bytes());
        out.extend(self.content);
    }
}

/// Appends an LCT header without its extensions: flags, words and codepoint, then TSI and TOI.
pub(crate) fn begin(
    out: &mut Vec<u8>,
    flags: u8,
    (words, codepoint): (u8, u8),
    congestion: [u8; 16],
    (session, object): (u32, u32),
) {
    out.extend([FIRST, SIZES | flags, words, codepoint]);
    out.extend(congestion);
    out.extend(session.to_be_bytes());
    out.extend(object.to_be_bytes());
}

impl fmt::Display for Alc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, object, block, symbol, content, .. } = self;
        write!(f, "ALC {session:08x}/{object} symbol {block}:{symbol} len {}", content.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    fn packet() -> Alc<'static> {
        Alc {
            congestion: core::array::from_fn(|n| n as u8),
            session: 0x0102_0304,
            object: 7,
            closes_session: false,
            block: 5,
            symbol: 0x0a_0b0c,
            content: b"symbol",
        }
    }
    fn bytes(packet: &Alc<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        packet.encode(&mut out);
        out
    }

    #[test]
    fn a_packet_is_laid_out_as_the_rfcs_have_it() {
        let bytes = bytes(&packet());
        assert_eq!(bytes[..4], [0x1c, 0xa0, 7, 6]);
        assert_eq!(bytes[20..32], [1, 2, 3, 4, 0, 0, 0, 7, 5, 0x0a, 0x0b, 0x0c]);
        assert_eq!((bytes.len(), &bytes[32..]), (Alc::HEADER + 6, &b"symbol"[..]));
        assert_eq!(Alc::parse(&bytes), Ok(packet()));
        let last = Alc { closes_session: true, ..packet() };
        assert_eq!(Alc::parse(&self::bytes(&last)), Ok(last));
    }

    #[test]
    fn the_last_packet_of_a_session_has_neither_object_nor_payload() {
        let last = Alc::close([7; 16], 9);
        let bytes = bytes(&last);
        assert_eq!(bytes[..4], [0x1c, 0x82, 6, 6]);
        assert_eq!((bytes.len(), Alc::parse(&bytes)), (24, Ok(last)));
        assert!((0..24).all(|cut| Alc::parse(&bytes[..cut]).is_err()));
        let short = [&[0x1c, 0x82, 5, 6], &bytes[4..]].concat();
        assert!(Alc::parse(&short).is_err());
        // Without an object only a session can be closed.
        let open = [&[0x1c, 0x80, 6, 6], &bytes[4..]].concat();
        assert!(Alc::parse(&open).is_err());
    }

    #[test]
    fn extensions_are_passed_over() {
        let mut bytes = bytes(&packet());
        bytes[2] = 8;
        // EXT_NOP of one word.
        bytes.splice(28..28, [0, 1, 0, 0]);
        assert_eq!(Alc::parse(&bytes), Ok(packet()));
    }

    #[test]
    fn what_is_cut_short_or_of_another_form_is_refused() {
        let whole = bytes(&packet());
        assert!((0..Alc::HEADER).all(|cut| Alc::parse(&whole[..cut]).is_err()));
        for (at, byte) in [(0, 0x2c), (0, 0x10), (1, 0x20), (2, 6), (2, 255), (3, 0)] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            assert!(Alc::parse(&bytes).is_err(), "{at} {byte}");
        }
    }

    #[test]
    fn a_norm_node_takes_it_for_a_message_of_an_unknown_type() {
        let full = Alc { content: &[0; 1440], ..packet() };
        assert_eq!(Message::parse(&bytes(&full)), Err(WireError::UnknownType(12)));
        // A short one has a header longer than itself.
        assert!(Message::parse(&bytes(&packet())).is_err());
    }
}
