//! What the two ends say about connections, each in a message of the link of its own.
//!
//! ```text
//! 1 | connection (varint) | frame      please open
//! 2 | connection (varint) | frame      the answer
//! 3 | connection (varint) | up to (varint)   may be sent
//! 4 | connection (varint)              reset
//! ```
//! They may arrive in any order: what is said of credit only grows, and a reset is one for good.

use fanfare_link::varint;

use crate::frame::FRAME_MAX;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// Please open.
    Open(u64, Vec<u8>),
    /// The answer.
    Reply(u64, Vec<u8>),
    /// So many bytes may be sent, from the start of the connection.
    Credit(u64, u64),
    /// The connection is reset.
    Reset(u64),
}

impl Control {
    /// As bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, id) = match self {
            Self::Open(id, _) => (1, *id),
            Self::Reply(id, _) => (2, *id),
            Self::Credit(id, _) => (3, *id),
            Self::Reset(id) => (4, *id),
        };
        let mut bytes = vec![kind];
        varint::put(id, &mut bytes);
        match self {
            Self::Open(_, frame) | Self::Reply(_, frame) => bytes.extend_from_slice(frame),
            Self::Credit(_, up_to) => varint::put(*up_to, &mut bytes),
            Self::Reset(_) => {}
        }
        bytes
    }

    /// From bytes.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (&kind, mut rest) = bytes.split_first()?;
        let id = varint::take(&mut rest)?;
        let frame = || (rest.len() <= FRAME_MAX).then(|| rest.to_vec());
        match kind {
            1 => Some(Self::Open(id, frame()?)),
            2 => Some(Self::Reply(id, frame()?)),
            3 => {
                let up_to = varint::take(&mut rest)?;
                rest.is_empty().then_some(Self::Credit(id, up_to))
            }
            4 => rest.is_empty().then_some(Self::Reset(id)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_said_comes_back() {
        let all = [
            Control::Open(5, b"frame".to_vec()),
            Control::Reply(5, vec![]),
            Control::Credit(1 << 30, 1 << 50),
            Control::Reset(7),
        ];
        for control in all {
            assert_eq!(Control::parse(&control.to_bytes()), Some(control));
        }
        assert_eq!(Control::parse(&[4, 7, 0]), None);
        assert_eq!(Control::parse(&[9, 7]), None);
        assert_eq!(Control::parse(&[&[1, 7][..], &[0; FRAME_MAX + 1]].concat()), None);
    }

    proptest! {
        #[test]
        fn control_of_any_bytes_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Control::parse(&bytes);
        }
    }
}
