//! What a datagram on the one port is, by its first byte.

use crate::early::exchange::FIRST;

/// QUIC sets this bit in every packet (RFC 9000, 17.2). Greasing it (RFC 9287) is off.
const QUIC_BIT: u8 = 0x40;
/// Low half of the first byte of what is sealed: no NORM message has it.
const SEALED: u8 = 8;
/// NORM's version 1, and its message types.
const NORM: std::ops::RangeInclusive<u8> = 0x11..=0x16;

/// Who is to read a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// The QUIC connection.
    Quic,
    /// The NORM session, once it is opened.
    Sealed,
    /// Whoever keeps tickets: it came with a first packet.
    Early,
    /// Nobody: NORM that is not sealed. A link never goes back to it.
    Clear,
    /// Nobody.
    Unknown,
}

/// Looks at the first byte.
#[must_use]
pub fn content(datagram: &[u8]) -> Content {
    match datagram.first() {
        Some(first) if first & QUIC_BIT != 0 => Content::Quic,
        Some(first) if *first == FIRST => Content::Early,
        Some(first) if first & 0x0f == SEALED => Content::Sealed,
        Some(first) if NORM.contains(first) => Content::Clear,
        _ => Content::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_crypto::{Key, Moment, Seal, Settings};
    use fanfare_proto::Time;

    #[test]
    fn the_first_byte_tells_quic_from_sealed_and_clear_norm() {
        // RFC 9000: long header 11, short header 01.
        for first in [0xc3, 0xff, 0x40, 0x7f] {
            assert_eq!(content(&[first, 0]), Content::Quic);
        }
        for first in 0x11..=0x16 {
            assert_eq!(content(&[first]), Content::Clear);
        }
        assert_eq!(content(&[FIRST]), Content::Early);
        assert_eq!(content(&[]), Content::Unknown);
        assert_eq!(content(&[0x17]), Content::Unknown);
    }

    #[test]
    fn what_our_seal_makes_is_never_taken_for_quic() {
        let key = Key::from_secret([7; 32], 1);
        let mut seal = Seal::new(Settings::new(vec![key], "unicast"), [1; 16]);
        let at = Moment { now: Time::ZERO, ..Moment::default() };
        assert_eq!(content(&seal.hello(at, None)), Content::Sealed);
        let mut sealed = Vec::new();
        seal.seal(at, b"a message", &mut sealed);
        assert_eq!(content(&sealed), Content::Sealed);
    }
}
