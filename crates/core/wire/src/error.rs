//! Why a datagram cannot be parsed.

/// A datagram that is not a well-formed NORM message. Each variant is a drop reason worth counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WireError {
    /// Fewer bytes than the field named needs.
    Truncated {
        /// The field.
        what: &'static str,
        /// Bytes it takes.
        need: usize,
        /// Bytes there are.
        have: usize,
    },
    /// The version nibble is not 1 (RFC 5740 4.1).
    Version(u8),
    /// The type nibble is none of 1 to 6.
    UnknownType(u8),
    /// A NORM_CMD flavor that RFC 5740 does not define.
    UnknownFlavor(u8),
    /// `hdr_len` is shorter than the message's base header or longer than the datagram.
    HeaderLength {
        /// `hdr_len` as it stood, in 32-bit words.
        words: u8,
        /// Bytes of the header up to the end of the field that could not be read.
        base: usize,
        /// Bytes of the whole datagram.
        have: usize,
    },
    /// A header extension whose length is zero or passes the end of the header.
    ExtensionLength {
        /// Header extension type.
        het: u8,
        /// Its length as it stood, in 32-bit words.
        words: u8,
    },
    /// A header extension of a known type with a length that its type does not have.
    ExtensionSize {
        /// Header extension type.
        het: u8,
        /// Its length, type and length fields included.
        bytes: usize,
    },
    /// FEC encoding id that NORM sessions of this kind do not use (2, 5 and 129 are).
    UnknownFecId(u8),
    /// A field holds a value its RFC forbids.
    Value {
        /// The field.
        what: &'static str,
        /// What it held.
        value: u64,
    },
    /// A repair request whose item list is not a whole number of items (or of pairs, for ranges).
    RepairLength {
        /// What the list consists of.
        what: &'static str,
        /// Its length.
        bytes: usize,
    },
    /// A command's list that is not a whole number of items.
    ListLength {
        /// The list.
        what: &'static str,
        /// Its length in bytes.
        bytes: usize,
        /// Bytes of one item.
        item: usize,
    },
}

impl core::fmt::Display for WireError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Self::Truncated { what, need, have } => {
                write!(f, "truncated {what}: needs {need} bytes, has {have}")
            }
            Self::Version(v) => write!(f, "NORM version {v}, expected 1"),
            Self::UnknownType(t) => write!(f, "unknown message type {t}"),
            Self::UnknownFlavor(v) => write!(f, "unknown command flavor {v}"),
            Self::HeaderLength { words, base, have } => write!(
                f,
                "header length {words} words: base header is {base} bytes, datagram {have}"
            ),
            Self::ExtensionLength { het, words } => {
                write!(f, "header extension {het} has impossible length {words} words")
            }
            Self::ExtensionSize { het, bytes } => {
                write!(f, "header extension {het} cannot have {bytes} bytes")
            }
            Self::UnknownFecId(id) => write!(f, "unsupported FEC encoding id {id}"),
            Self::Value { what, value } => write!(f, "{what} cannot be {value}"),
            Self::RepairLength { what, bytes } => {
                write!(f, "{what}: {bytes} bytes are not a whole number of items")
            }
            Self::ListLength { what, bytes, item } => {
                write!(f, "{what}: {bytes} bytes are not a whole number of {item}-byte items")
            }
        }
    }
}

impl core::error::Error for WireError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_error_says_what_and_how_much() {
        let error = WireError::Truncated { what: "item", need: 8, have: 3 };
        assert_eq!(error.to_string(), "truncated item: needs 8 bytes, has 3");
        let error = WireError::ListLength { what: "node list", bytes: 7, item: 4 };
        assert_eq!(error.to_string(), "node list: 7 bytes are not a whole number of 4-byte items");
    }
}
