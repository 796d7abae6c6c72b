//! EXT_FORMER, ours: ids that the node that speaks had in earlier lives, the newest first. Travels
//! before announcements of group nodes. Others skip it.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   het = 67    | hel = 1 + ids |              0                |
//! +---------------+---------------+-------------------------------+
//! |                          node id ...                          |
//! +---------------------------------------------------------------+
//! ```

use crate::NodeId;
use alloc::vec::Vec;

/// Ids of earlier lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtFormer<'a> {
    /// Behind type, length and what is reserved.
    ids: &'a [u8],
}

impl<'a> ExtFormer<'a> {
    /// Header extension type.
    pub const HET: u8 = 67;
    /// Number of ids in one message at most; what is beyond is not read.
    pub const MAX: usize = 4;

    /// Reads the bytes behind type and length.
    pub(super) fn read(content: &'a [u8]) -> Option<Self> {
        Some(Self { ids: content.get(2..)? })
    }

    /// The ids, the newest first.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<'a> {
        let ids = self.ids.as_chunks().0.iter().take(Self::MAX);
        ids.map(|id| NodeId(u32::from_be_bytes(*id)))
    }

    /// Appends the extension with these ids, of more than [`Self::MAX`] the first.
    pub fn append(ids: &[NodeId], out: &mut Vec<u8>) {
        let ids = ids.iter().take(Self::MAX);
        out.extend_from_slice(&[Self::HET, 1 + ids.len() as u8, 0, 0]);
        ids.for_each(|id| out.extend_from_slice(&id.0.to_be_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext::Extensions;

    #[test]
    fn golden_bytes_of_two_earlier_lives() {
        let mut bytes = Vec::new();
        ExtFormer::append(&[NodeId(0x0102_0304), NodeId(7)], &mut bytes);
        assert_eq!(bytes, [67, 3, 0, 0, 1, 2, 3, 4, 0, 0, 0, 7]);
        let read = Extensions::parse(&bytes).unwrap();
        assert_eq!(read.formers().collect::<Vec<_>>(), [NodeId(0x0102_0304), NodeId(7)]);
    }

    #[test]
    fn more_lives_than_a_message_has_are_neither_written_nor_read() {
        let mut bytes = Vec::new();
        ExtFormer::append(&[NodeId(1); 9], &mut bytes);
        assert_eq!(bytes.len(), 4 + 4 * ExtFormer::MAX);
        let mut many = bytes.clone();
        many[1] += 1;
        many.extend_from_slice(&[0, 0, 0, 9]);
        let read = Extensions::parse(&many).unwrap();
        assert_eq!(read.formers().count(), ExtFormer::MAX);
        assert_eq!(Extensions::parse(&[]).unwrap().formers().count(), 0);
    }
}
