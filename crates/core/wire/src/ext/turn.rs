//! EXT_TURN, ours: which objects a sender has begun, or passed over, and not sent whole, where its
//! objects take turns. Travels in NORM_INFO and in NORM_DATA of a first pass. NRL's receivers skip it.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   het = 195   |     count     |      object_transport_id      |
//! +---------------+---------------+-------------------------------+
//! ```
//!
//! With a `count` of 0, everything up to this object has been sent. Else so many objects from this
//! one on have not been sent whole. What lies between and is named by none of them has been.

use crate::ObjectTransportId;
use alloc::vec::Vec;

/// One statement about the objects of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtTurn {
    /// Everything up to this object has been sent, but for what is open, and for the object of the
    /// message itself.
    Reach(ObjectTransportId),
    /// `count` objects from `first` on have not been sent whole.
    Open {
        /// The first of them.
        first: ObjectTransportId,
        /// How many, at least 1.
        count: u8,
    },
}

impl ExtTurn {
    /// Header extension type; from 192 on nobody else's.
    pub const HET: u8 = 195;
    /// Bytes on the wire.
    pub const LEN: usize = 4;
    /// So many statements are in one message at most; what is beyond is not read.
    pub const MAX: usize = 2;

    /// From the three bytes behind the type.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let &[count, high, low] = content else {
            return None;
        };
        let object = ObjectTransportId(u16::from_be_bytes([high, low]));
        Some(match count {
            0 => Self::Reach(object),
            _ => Self::Open { first: object, count },
        })
    }

    /// The extension's bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        let (count, object) = match self {
            Self::Reach(object) => (0, object),
            Self::Open { first, count } => (count, first),
        };
        let [high, low] = object.0.to_be_bytes();
        [Self::HET, count, high, low]
    }

    /// Appends the extension.
    pub fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext::Extensions;

    #[test]
    fn golden_bytes_of_an_object_that_was_overtaken_and_of_how_far_all_was_sent() {
        let open = ExtTurn::Open { first: ObjectTransportId(0x1234), count: 2 };
        let reach = ExtTurn::Reach(ObjectTransportId(0x1240));
        let mut bytes = Vec::new();
        open.append(&mut bytes);
        reach.append(&mut bytes);
        assert_eq!(bytes, [195, 2, 0x12, 0x34, 195, 0, 0x12, 0x40]);
        let read = Extensions::parse(&bytes).unwrap();
        assert_eq!(read.turns().collect::<Vec<_>>(), [open, reach]);
    }

    #[test]
    fn more_statements_than_a_message_has_are_not_read() {
        let one = ExtTurn::Open { first: ObjectTransportId(7), count: 1 };
        let mut bytes = Vec::new();
        (0..3).for_each(|_| one.append(&mut bytes));
        assert_eq!(Extensions::parse(&bytes).unwrap().turns().count(), ExtTurn::MAX);
    }
}
