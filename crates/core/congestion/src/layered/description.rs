//! The session description: what a receiver learns on the session's own group, from a
//! CMD(APPLICATION), before it joins a layer. The announcement is for its controller. This is for
//! everything else: the object, its name, and how to recognise its packets.
//!
//! ```text
//! "FNLS" | version 1 (8) | reserved (24) | congestion control information (128) | session TSI (32)
//! FEC object transmission information (96) | info bytes (16) | info | announcement
//! ```

use super::{Channel, Header};
use alloc::vec::Vec;
use fanfare_fec::fountain::Shape;
use fanfare_wire::units::time::{Duration, Time};

const MAGIC: [u8; 4] = *b"FNLS";
const VERSION: u8 = 1;
/// Bytes before the info.
const HEAD: usize = 42;
/// The first of a pair.
const FIRST_OF_PAIR: u8 = 1;
/// The sender's clock has 48 bits of microseconds: nine years.
const CLOCK_BITS: u32 = 48;

/// A session as its sender describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description<'a> {
    /// Of this announcement, as a packet of the session's own channel.
    pub header: Header,
    /// The session's number on its layers (TSI).
    pub session: u32,
    /// How the object is cut.
    pub shape: Shape,
    /// What the application says of the object.
    pub info: &'a [u8],
    /// The announcement, in bytes.
    pub announcement: &'a [u8],
}

impl<'a> Description<'a> {
    /// Whether a command is a session's description, and not some other application's.
    #[must_use]
    pub fn is_one(command: &[u8]) -> bool {
        command.starts_with(&MAGIC)
    }

    /// Reads one; `None` when it is cut short, of another version, or of an object that cannot be.
    #[must_use]
    pub fn parse(command: &'a [u8]) -> Option<Self> {
        let (head, rest) = command.split_first_chunk::<HEAD>()?;
        if head[..4] != MAGIC || head[4] != VERSION {
            return None;
        }
        let (cci, rest_of_head) = head[8..].split_first_chunk::<16>()?;
        let (session, rest_of_head) = rest_of_head.split_first_chunk()?;
        let (object, info) = rest_of_head.split_first_chunk()?;
        let info = usize::from(u16::from_be_bytes([info[0], info[1]]));
        let (info, announcement) = rest.split_at_checked(info)?;
        Some(Self {
            header: Header::from_bytes(cci),
            session: u32::from_be_bytes(*session),
            shape: Shape::decode(object).ok()?,
            info,
            announcement,
        })
    }

    /// Appends its bytes.
    ///
    /// # Panics
    /// When the info has more than 65,535 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let length = u16::try_from(self.info.len()).unwrap_or_else(|_| panic!("info too long"));
        out.extend(MAGIC);
        out.extend([VERSION, 0, 0, 0]);
        out.extend(self.header.to_bytes());
        out.extend(self.session.to_be_bytes());
        out.extend(self.shape.encode());
        out.extend(length.to_be_bytes());
        out.extend(self.info);
        out.extend(self.announcement);
    }
}

impl Header {
    /// As congestion control information (RFC 5651 5.1):
    ///
    /// ```text
    /// channel (8) | layer (8) | signal (8) | flags (8), 1: first of a pair | sequence (32)
    /// sender's clock, microseconds (48) | slot (16)
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 16] {
        let flags = if self.first_of_pair { FIRST_OF_PAIR } else { 0 };
        let clock = self.sent.as_nanos() / 1000 % (1 << CLOCK_BITS);
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&[self.channel.0, self.layer, self.signal, flags]);
        bytes[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        // Slots turn on: sixteen bits of them are nine hours, and who listens sees each.
        bytes[8..].copy_from_slice(&(clock << 16 | u64::from(self.slot as u16)).to_be_bytes());
        bytes
    }
    /// The reverse: any bytes are a header.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 16]) -> Self {
        let [channel, layer, signal, flags, sequence @ .., _, _, _, _, _, _, _, _] = *bytes;
        let [.., a, b, c, d, e, f, g, h] = *bytes;
        let clock = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        Self {
            channel: Channel(channel),
            layer,
            sequence: u32::from_be_bytes(sequence),
            sent: Time::ZERO + Duration::from_micros(clock >> 16),
            first_of_pair: flags & FIRST_OF_PAIR != 0,
            slot: (clock & 0xffff) as u32,
            signal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            channel: Channel(3),
            layer: 2,
            sequence: 0xffff_fff0,
            sent: Time::ZERO + Duration::from_micros(90_000_000_123),
            first_of_pair: true,
            slot: 700,
            signal: 9,
        }
    }
    fn bytes() -> Vec<u8> {
        let shape = Shape::new(50_000_000, 1440).unwrap();
        let (info, announcement) = (&b"name"[..], &b"FNLA and so on"[..]);
        let mut out = Vec::new();
        Description { header: header(), session: 77, shape, info, announcement }.encode(&mut out);
        out
    }

    #[test]
    fn a_header_comes_back_as_it_was_to_the_microsecond() {
        let header = header();
        assert_eq!(Header::from_bytes(&header.to_bytes()), header);
        let first = Header { first_of_pair: false, sequence: 0, ..header };
        assert_eq!(Header::from_bytes(&first.to_bytes()), first);
    }

    #[test]
    fn a_description_comes_back_as_it_was() {
        let bytes = bytes();
        let back = Description::parse(&bytes).unwrap();
        assert_eq!((back.header, back.session, back.shape.object()), (header(), 77, 50_000_000));
        assert_eq!((back.info, back.announcement), (&b"name"[..], &b"FNLA and so on"[..]));
    }

    #[test]
    fn a_truncated_changed_or_foreign_description_is_refused() {
        let whole = bytes();
        assert!((0..HEAD + 4).all(|cut| Description::parse(&whole[..cut]).is_none()));
        // Version, an object without blocks, an info beyond the end.
        for (at, byte) in [(4, 2), (36, 0), (40, 255)] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            assert!(Description::parse(&bytes).is_none() && Description::is_one(&bytes), "{at}");
        }
        assert!(!Description::is_one(b"FNFR") && Description::parse(b"FNFR").is_none());
    }
}
