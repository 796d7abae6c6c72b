//! Symbols of a NORM_OBJECT_STREAM: eight bytes, and then content (RFC 5740 4.2.1).
//!
//! ```text
//! +-------------------------------+-------------------------------+
//! |          payload_len          |       payload_msg_start       |
//! +-------------------------------+-------------------------------+
//! |                        payload_offset                         |
//! +---------------------------------------------------------------+
//! ```
//!
//! The eight bytes are part of the symbol, so that the erasure code covers them. Those of parity mean
//! nothing before the block is decoded.

use crate::WireError;

/// Bytes ahead of a symbol's content.
pub const STREAM_HEADER: usize = 8;

/// What a source symbol of a stream says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamSymbol<'a> {
    /// Bytes of the stream.
    Data {
        /// The bytes, at least one.
        content: &'a [u8],
        /// Where in them the first message begins, if one does.
        msg_start: Option<u16>,
        /// Position of the first of them in the stream, modulo 2^32.
        offset: u32,
    },
    /// The stream ends here: code 0.
    End {
        /// Its length, modulo 2^32.
        offset: u32,
    },
    /// Another code, which RFC 5740 does not define.
    Control {
        /// The code.
        code: u16,
        /// The position that came with it.
        offset: u32,
    },
}

impl<'a> StreamSymbol<'a> {
    /// Reads a symbol as it travels, or one that was filled up with zeros.
    ///
    /// # Errors
    /// [`WireError::Truncated`] for a symbol without a whole header, or with fewer bytes than it
    /// claims; [`WireError::Value`] for a message that begins behind its end.
    pub fn parse(symbol: &'a [u8]) -> Result<Self, WireError> {
        let truncated =
            |need| WireError::Truncated { what: "stream symbol", need, have: symbol.len() };
        let (header, content) =
            symbol.split_first_chunk::<STREAM_HEADER>().ok_or(truncated(STREAM_HEADER))?;
        let [l0, l1, s0, s1, offset @ ..] = *header;
        let (len, start) = (u16::from_be_bytes([l0, l1]), u16::from_be_bytes([s0, s1]));
        let offset = u32::from_be_bytes(offset);
        match (len, start) {
            (0, 0) => Ok(Self::End { offset }),
            (0, code) => Ok(Self::Control { code, offset }),
            _ if start > len => {
                Err(WireError::Value { what: "payload_msg_start", value: u64::from(start) })
            }
            _ => {
                let need = usize::from(len);
                let content = content.get(..need).ok_or(truncated(STREAM_HEADER + need))?;
                Ok(Self::Data { content, msg_start: start.checked_sub(1), offset })
            }
        }
    }

    /// The header of a symbol with so many bytes of content, of which a message begins at
    /// `msg_start`.
    #[must_use]
    pub fn header(len: u16, msg_start: Option<u16>, offset: u32) -> [u8; STREAM_HEADER] {
        let start = msg_start.map_or(0, |at| at.saturating_add(1));
        let ([l0, l1], [s0, s1]) = (len.to_be_bytes(), start.to_be_bytes());
        let [o0, o1, o2, o3] = offset.to_be_bytes();
        [l0, l1, s0, s1, o0, o1, o2, o3]
    }

    /// The whole symbol that ends a stream of this length.
    #[must_use]
    pub fn end(offset: u32) -> [u8; STREAM_HEADER] {
        Self::header(0, None, offset)
    }

    /// The position that it carries.
    #[must_use]
    pub fn offset(&self) -> u32 {
        match self {
            Self::Data { offset, .. } | Self::End { offset } | Self::Control { offset, .. } => {
                *offset
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::hex;
    use alloc::vec::Vec;

    /// Symbols that libnorm 1.5.9 sent: 250 times 'A', then "second", a flush, "third", a flush, and a
    /// graceful close; segments of 100 bytes.
    const CAPTURED: [(&str, u16, Option<u16>, u32); 5] = [
        ("0064 0001 00000000", 100, Some(0), 0),
        ("0064 0000 00000064", 100, None, 100),
        ("0038 0033 000000c8", 56, Some(50), 200),
        ("0005 0001 00000100", 5, Some(0), 256),
        ("0000 0000 00000105", 0, None, 261),
    ];

    #[test]
    fn headers_of_libnorm_are_read_and_written_again() {
        for (header, len, start, position) in CAPTURED {
            let header = hex(header);
            assert_eq!(StreamSymbol::header(len, start, position)[..], header);
            let mut symbol = header.clone();
            symbol.resize(STREAM_HEADER + usize::from(len), b'A');
            match StreamSymbol::parse(&symbol).unwrap() {
                StreamSymbol::Data { content, msg_start, offset } => {
                    assert_eq!((content.len() as u16, msg_start, offset), (len, start, position));
                }
                StreamSymbol::End { offset } => assert_eq!((len, offset), (0, position)),
                StreamSymbol::Control { .. } => panic!("no code is among them"),
            }
        }
        assert_eq!(StreamSymbol::end(261)[..], hex("0000 0000 00000105"));
    }

    #[test]
    fn a_symbol_filled_up_with_zeros_reads_as_the_same() {
        let mut symbol: Vec<u8> = StreamSymbol::header(3, Some(1), 7).to_vec();
        symbol.extend_from_slice(b"abc");
        let short = symbol.clone();
        symbol.resize(108, 0);
        assert_eq!(StreamSymbol::parse(&symbol), StreamSymbol::parse(&short));
    }

    #[test]
    fn a_symbol_shorter_than_its_header_is_refused() {
        for len in 0..STREAM_HEADER {
            assert!(StreamSymbol::parse(&[0; STREAM_HEADER][..len]).is_err());
        }
        assert_eq!(StreamSymbol::parse(&[0; 8]), Ok(StreamSymbol::End { offset: 0 }));
    }

    #[test]
    fn a_length_beyond_the_symbol_is_refused() {
        let mut symbol = StreamSymbol::header(4, None, 0).to_vec();
        symbol.extend_from_slice(b"abc");
        let error = WireError::Truncated { what: "stream symbol", need: 12, have: 11 };
        assert_eq!(StreamSymbol::parse(&symbol), Err(error));
    }

    #[test]
    fn a_message_that_begins_behind_the_content_is_refused() {
        let symbol = hex("0003 0004 00000000 616263");
        let error = WireError::Value { what: "payload_msg_start", value: 4 };
        assert_eq!(StreamSymbol::parse(&symbol), Err(error));
        assert!(StreamSymbol::parse(&hex("0003 0003 00000000 616263")).is_ok());
    }

    #[test]
    fn a_code_that_nobody_defined_is_told_apart_from_the_end() {
        let symbol = hex("0000 0007 00000009");
        assert_eq!(StreamSymbol::parse(&symbol), Ok(StreamSymbol::Control { code: 7, offset: 9 }));
    }
}
