//! What the ends say of a stream besides its bytes. All of it hides where NRL's nodes do not look: in
//! NORM_INFO behind a zero byte, and in the application's part of an acknowledgement.

use std::time::Duration;

use fanfare_proto::NodeId;
use minicbor::{Decode, Encode};

use super::framing::Framing;

/// Before what is said in NORM_INFO: no text that an application of NRL's would begin with.
const INFO_MARK: u8 = 0;
/// Before a receipt, and before a receiver's name in its status.
const RECEIPT_MARK: [u8; 2] = [0, b'S'];
/// What a receiver says that reads no further.
pub(super) const LEAVING: [u8; 2] = [0, b'L'];
/// Before what a receiver says that reads the stream of one sender: whose, and its name.
const TAKEN_MARK: [u8; 2] = [0, b'T'];
/// Longest name believed, bytes.
const NAME_MAX: usize = 64;

/// What a sender says of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
#[cbor(map)]
pub(super) struct Announcement {
    /// Number of the framing.
    #[n(0)]
    framing: u8,
    /// Milliseconds.
    #[n(1)]
    lifetime: Option<u64>,
}

impl Announcement {
    pub(super) fn new(framing: Framing, lifetime: Option<Duration>) -> Self {
        let lifetime = lifetime.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        Self { framing: framing.number(), lifetime }
    }

    pub(super) fn encode(self) -> Vec<u8> {
        let mut out = vec![INFO_MARK];
        let _ = minicbor::encode(self, &mut out);
        out
    }

    pub(super) fn decode(info: &[u8]) -> Option<Self> {
        let (mark, map) = info.split_first()?;
        (*mark == INFO_MARK).then(|| minicbor::decode(map).ok())?
    }

    pub(super) fn framing(self) -> Option<Framing> {
        Framing::of(self.framing)
    }

    pub(super) fn lifetime(self) -> Option<Duration> {
        self.lifetime.map(Duration::from_millis)
    }
}

/// What a receiver says of the stream when it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Receipt {
    /// Position of the first byte that it read.
    #[n(0)]
    pub first: u64,
    /// Length of the stream.
    #[n(1)]
    pub length: u64,
    /// Bytes between the two that it does not have.
    #[n(2)]
    pub lost: u64,
    /// BLAKE3 of what it read; zeros where it did not hash.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub hash: [u8; 32],
}

impl Receipt {
    /// Whether it has every byte.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.first == 0 && self.lost == 0
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = RECEIPT_MARK.to_vec();
        let _ = minicbor::encode(self, &mut out);
        out
    }

    /// What comes behind it, padding, is ignored.
    pub(super) fn decode(content: &[u8]) -> Option<Self> {
        minicbor::decode(content.strip_prefix(&RECEIPT_MARK)?).ok()
    }
}

/// A receiver's name, as its answer to the roll call.
pub(super) fn name_status(name: &str) -> Vec<u8> {
    let mut out = RECEIPT_MARK.to_vec();
    out.extend(name.bytes().take(NAME_MAX));
    out
}

/// The same once it reads the stream of this sender, and no other's.
pub(super) fn taken_status(sender: NodeId, name: &str) -> Vec<u8> {
    let mut out = TAKEN_MARK.to_vec();
    out.extend(sender.0.to_be_bytes());
    out.extend(name.bytes().take(NAME_MAX));
    out
}

/// Sender whose stream is read, and the name, in such an answer.
pub(super) fn taken_of(status: &[u8]) -> Option<(NodeId, String)> {
    let (sender, name) = status.strip_prefix(&TAKEN_MARK)?.split_first_chunk()?;
    Some((NodeId(u32::from_be_bytes(*sender)), text_of(name)))
}

/// The name in an answer to the roll call.
pub(super) fn name_of(status: &[u8]) -> Option<String> {
    status.strip_prefix(&RECEIPT_MARK).map(text_of)
}

fn text_of(name: &[u8]) -> String {
    let name = &name[..name.len().min(NAME_MAX)];
    let text = String::from_utf8_lossy(name);
    text.trim_end_matches('\0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_read_with_the_padding_of_the_wire() {
        let receipt = Receipt { first: 3, length: 1 << 40, lost: 7, hash: [9; 32] };
        let mut bytes = receipt.encode();
        bytes.extend([0; 3]);
        assert_eq!(Receipt::decode(&bytes), Some(receipt));
        assert!(!receipt.is_whole() && Receipt { first: 0, lost: 0, ..receipt }.is_whole());
        assert_eq!((Receipt::decode(b"\0S"), Receipt::decode(b"other")), (None, None));
    }

    #[test]
    fn what_an_application_of_another_kind_says_is_no_announcement() {
        let said = Announcement::new(Framing::Varint, Some(Duration::from_secs(2)));
        let read = Announcement::decode(&said.encode()).unwrap();
        assert_eq!(read.framing(), Some(Framing::Varint));
        assert_eq!(read.lifetime(), Some(Duration::from_secs(2)));
        for other in [&b"hello"[..], b"", b"\0", b"\0\xff"] {
            assert_eq!(Announcement::decode(other), None);
        }
    }

    #[test]
    fn names_travel_in_answers_to_the_roll_call() {
        assert_eq!(name_of(&name_status("seat 7")), Some("seat 7".to_owned()));
        assert_eq!(name_of(b"\xa0"), None);
        let taken = taken_status(NodeId(7), "seat 7");
        assert_eq!(taken_of(&taken), Some((NodeId(7), "seat 7".to_owned())));
        assert_eq!((name_of(&taken), taken_of(&name_status("seat 7"))), (None, None));
        assert_eq!(taken_of(&taken[..5]), None);
    }
}
