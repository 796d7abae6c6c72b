//! EXT_HELD, ours: what a node holds of publishers that called on it, by content. Travels before the next
//! long announcement of a group node that was called on, also when it says nothing. Others skip it.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   het = 68    |      hel      |               0               |
//! +---------------+---------------+-------------------------------+
//! |                           node id                             |
//! +---------------------------------------------------------------+
//! |            digest of what is held of its objects ...          |
//! +---------------------------------------------------------------+
//! ```

use crate::NodeId;
use alloc::vec::Vec;

/// Bytes of one publisher.
const ENTRY: usize = 8;

/// Digests of what is held of publishers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtHeld<'a> {
    /// Behind type, length and what is reserved.
    entries: &'a [u8],
}

impl<'a> ExtHeld<'a> {
    /// Header extension type.
    pub const HET: u8 = 68;
    /// Number of publishers in one message at most; what is beyond is not read.
    pub const MAX: usize = 16;

    /// Bytes on the wire with so many publishers.
    #[must_use]
    pub const fn length(publishers: usize) -> usize {
        4 + ENTRY * publishers
    }

    /// Reads the bytes behind type and length.
    pub(super) fn read(content: &'a [u8]) -> Option<Self> {
        Some(Self { entries: content.get(2..)? })
    }

    /// Digests of what is held of this publisher: one for each of its instances that the announcement speaks of, in
    /// their order.
    pub fn digests_of(&self, publisher: NodeId) -> impl Iterator<Item = u32> + use<'a> {
        let entries = self.entries.as_chunks::<ENTRY>().0.iter().take(Self::MAX);
        let entries = entries.map(|[a, b, c, d, digest @ ..]| {
            (u32::from_be_bytes([*a, *b, *c, *d]), u32::from_be_bytes(*digest))
        });
        entries.filter(move |(node, _)| *node == publisher.0).map(|(_, digest)| digest)
    }

    /// Appends the extension with these digests, of more than [`Self::MAX`] the first.
    pub fn append(digests: &[(NodeId, u32)], out: &mut Vec<u8>) {
        let digests = digests.iter().take(Self::MAX);
        let words = Self::length(digests.len()) / 4;
        out.extend_from_slice(&[Self::HET, words as u8, 0, 0]);
        for (node, digest) in digests {
            out.extend_from_slice(&node.0.to_be_bytes());
            out.extend_from_slice(&digest.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext::Extensions;

    #[test]
    fn golden_bytes_of_what_is_held_of_two_publishers_and_of_none() {
        let mut bytes = Vec::new();
        ExtHeld::append(&[(NodeId(0x0102_0304), 0x0506_0708), (NodeId(7), 9)], &mut bytes);
        assert_eq!(bytes, [68, 5, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 7, 0, 0, 0, 9]);
        let held = Extensions::parse(&bytes).unwrap().held().unwrap();
        assert_eq!(
            [0x0102_0304, 7, 8].map(|node| held.digests_of(NodeId(node)).next()),
            [Some(0x0506_0708), Some(9), None]
        );
        let mut none = Vec::new();
        ExtHeld::append(&[], &mut none);
        assert_eq!((&none[..], none.len()), (&[68, 1, 0, 0][..], ExtHeld::length(0)));
        assert!(Extensions::parse(&none).unwrap().held().is_some());
        assert_eq!(Extensions::parse(&[]).unwrap().held(), None);
    }

    #[test]
    fn more_publishers_than_a_message_has_are_neither_written_nor_read() {
        let many: Vec<(NodeId, u32)> = (0..40).map(|node| (NodeId(node), node)).collect();
        let mut bytes = Vec::new();
        ExtHeld::append(&many, &mut bytes);
        assert_eq!(bytes.len(), ExtHeld::length(ExtHeld::MAX));
        bytes[1] += 2;
        bytes.extend_from_slice(&[0, 0, 0, 99, 0, 0, 0, 1]);
        let held = Extensions::parse(&bytes).unwrap().held().unwrap();
        assert_eq!(
            (held.digests_of(NodeId(15)).next(), held.digests_of(NodeId(99)).next()),
            (Some(15), None)
        );
    }
}
