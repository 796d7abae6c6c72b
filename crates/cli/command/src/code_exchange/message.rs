//! What travels between a host and its guests.
//!
//! ```text
//! all           "FFC1", kind (1), slot (2, high byte first)
//! 1 beacon      host's number (8)                                  host to all, or to who asks
//! 2 question    -                                                  guest to all
//! 3 proposal    host's number (8), exchange (16), SPAKE2 (33)      guest to host
//! 4 answer      exchange (16), SPAKE2 (33)                         host to guest
//! 5 proof       exchange (16), its tag (32)                        guest to host
//! 6 grant       exchange (16), AES-128-GCM of the grant            host to guest
//! 7 refusal     exchange (16), why (1), guesses that are left (1)  host to guest
//! ```
//! The guest proves first that it knows the words: a stranger in its place cannot try a guess without
//! being counted.

const MAGIC: [u8; 4] = *b"FFC1";
/// A message of SPAKE2 over Ed25519: which side, and a point.
pub(crate) const SHARE: usize = 33;

/// Names one run of SPAKE2.
pub(crate) type Exchange = [u8; 16];

/// Why there is no grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Other words.
    Wrong = 1,
    /// There were too many wrong ones.
    Closed = 2,
    /// Everybody who is expected has come, or the time is over.
    Over = 3,
    /// Others are at it now.
    Busy = 4,
}

/// One datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    Beacon { host: [u8; 8] },
    Question,
    Proposal { host: [u8; 8], exchange: Exchange, share: &'a [u8] },
    Answer { exchange: Exchange, share: &'a [u8] },
    Proof { exchange: Exchange, tag: [u8; 32] },
    Grant { exchange: Exchange, sealed: &'a [u8] },
    Refusal { exchange: Exchange, why: Why, left: u8 },
}

impl<'a> Message<'a> {
    /// A message, and its slot; `None` for anything else.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<(u16, Self)> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (kind, rest) = rest.split_first()?;
        let (slot, rest) = rest.split_first_chunk::<2>()?;
        let exchange =
            |bytes: &'a [u8]| bytes.split_first_chunk::<16>().map(|(id, rest)| (*id, rest));
        let message = match kind {
            1 => Self::Beacon { host: rest.try_into().ok()? },
            2 if rest.is_empty() => Self::Question,
            3 => {
                let (host, rest) = rest.split_first_chunk::<8>()?;
                let (exchange, share) = exchange(rest).filter(|(_, share)| share.len() == SHARE)?;
                Self::Proposal { host: *host, exchange, share }
            }
            4 => {
                let (exchange, share) = exchange(rest).filter(|(_, share)| share.len() == SHARE)?;
                Self::Answer { exchange, share }
            }
            5 => {
                let (exchange, tag) = exchange(rest)?;
                Self::Proof { exchange, tag: tag.try_into().ok()? }
            }
            6 => {
                let (exchange, sealed) = exchange(rest)?;
                Self::Grant { exchange, sealed }
            }
            7 => {
                let (exchange, rest) = exchange(rest)?;
                let [why, left] = rest.try_into().ok()?;
                let all = [Why::Wrong, Why::Closed, Why::Over, Why::Busy];
                let why = all.into_iter().find(|one| *one as u8 == why)?;
                Self::Refusal { exchange, why, left }
            }
            _ => return None,
        };
        Some((u16::from_be_bytes(*slot), message))
    }

    /// As bytes.
    pub(crate) fn encode(&self, slot: u16) -> Vec<u8> {
        let (kind, parts): (u8, [&[u8]; 3]) = match self {
            Self::Beacon { host } => (1, [host, &[], &[]]),
            Self::Question => (2, [&[], &[], &[]]),
            Self::Proposal { host, exchange, share } => (3, [host, exchange, share]),
            Self::Answer { exchange, share } => (4, [exchange, share, &[]]),
            Self::Proof { exchange, tag } => (5, [exchange, tag, &[]]),
            Self::Grant { exchange, sealed } => (6, [exchange, sealed, &[]]),
            Self::Refusal { exchange, why, left } => (7, [exchange, &[*why as u8], &[*left]]),
        };
        let mut bytes = MAGIC.to_vec();
        bytes.push(kind);
        bytes.extend(slot.to_be_bytes());
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_read_as_it_was_written_and_no_other_length() {
        let (host, exchange, share) = ([1; 8], [2; 16], [3; SHARE]);
        for message in [
            Message::Beacon { host },
            Message::Question,
            Message::Proposal { host, exchange, share: &share },
            Message::Answer { exchange, share: &share },
            Message::Proof { exchange, tag: [4; 32] },
            Message::Grant { exchange, sealed: &[5; 60] },
            Message::Refusal { exchange, why: Why::Busy, left: 3 },
        ] {
            let bytes = message.encode(7);
            assert_eq!(Message::parse(&bytes), Some((7, message.clone())));
            for end in 0..bytes.len() {
                let read = Message::parse(&bytes[..end]).map(|(_, message)| message);
                assert_ne!(read, Some(message.clone()), "{end}");
            }
        }
        assert_eq!(Message::parse(b"FFC1\x08\0\x07"), None);
        assert_eq!(Message::parse(&[0x12; 40]), None);
    }
}
