//! What the two ends say about connections, each in a message of the link of its own.
//!
//! ```text
//! 1 | connection (varint) | frame      please open
//! 2 | connection (varint) | frame      the answer
//! 3 | connection (varint) | up to (varint)   may be sent
//! 4 | connection (varint)              reset
//! 5 | connection (varint) | length of the frame (varint) | frame | first bytes
//!                                      please open, and these are its first bytes
//! ```
//! They may arrive in any order: what is said of credit only grows, and a reset is one for good.

use crate::varint;

use crate::proxy::frame::FRAME_MAX;

/// First bytes that may go with a request: with the rest they fit into a packet.
pub const FIRST_MAX: usize = 900;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// Please open, and these are its first bytes.
    Open(u64, Vec<u8>, Vec<u8>),
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
            Self::Open(id, _, first) if first.is_empty() => (1, *id),
            Self::Open(id, ..) => (5, *id),
            Self::Reply(id, _) => (2, *id),
            Self::Credit(id, _) => (3, *id),
            Self::Reset(id) => (4, *id),
        };
        let mut bytes = vec![kind];
        varint::put(id, &mut bytes);
        match self {
            Self::Open(_, frame, first) => {
                if !first.is_empty() {
                    varint::put(frame.len() as u64, &mut bytes);
                }
                bytes.extend_from_slice(frame);
                bytes.extend_from_slice(first);
            }
            Self::Reply(_, frame) => bytes.extend_from_slice(frame),
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
            1 => Some(Self::Open(id, frame()?, Vec::new())),
            2 => Some(Self::Reply(id, frame()?)),
            3 => {
                let up_to = varint::take(&mut rest)?;
                rest.is_empty().then_some(Self::Credit(id, up_to))
            }
            4 => rest.is_empty().then_some(Self::Reset(id)),
            5 => {
                let length = usize::try_from(varint::take(&mut rest)?).ok()?;
                let (frame, first) = rest.split_at_checked(length)?;
                let fits = frame.len() <= FRAME_MAX && (1..=FIRST_MAX).contains(&first.len());
                fits.then(|| Self::Open(id, frame.to_vec(), first.to_vec()))
            }
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
            Control::Open(5, b"frame".to_vec(), vec![]),
            Control::Open(5, b"frame".to_vec(), b"GET /".to_vec()),
            Control::Open(9, vec![0; FRAME_MAX], vec![1; FIRST_MAX]),
            Control::Reply(5, vec![]),
            Control::Credit(1 << 30, 1 << 50),
            Control::Reset(7),
        ];
        for control in all {
            assert_eq!(Control::parse(&control.to_bytes()), Some(control));
        }
        assert_eq!(Control::parse(&[4, 7, 0]), None);
        assert_eq!(Control::parse(&[9, 7]), None);
        let long = Control::Open(5, vec![], vec![0; FIRST_MAX + 1]).to_bytes();
        assert_eq!(Control::parse(&long), None);
        assert_eq!(Control::parse(&[5, 7, 0]), None);
        assert_eq!(Control::parse(&[5, 7, 2, 0]), None);
        assert_eq!(Control::parse(&[&[1, 7][..], &[0; FRAME_MAX + 1]].concat()), None);
    }

    proptest! {
        #[test]
        fn control_of_any_bytes_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Control::parse(&bytes);
        }
    }
}
