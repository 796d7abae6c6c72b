//! What nodes tell each other of the length of datagrams.
//!
//! ```text
//! header of a REPORT from nobody (8), "FFM1", kind (1), then
//! 1 mark:     longest datagram sent since the last mark (2), how many of about that length (2)
//! 2 deaf:     longest datagram heard since the last mark (2), the mark's (2)
//! 3 rung:     number of the series (4), longest rung of it (2), 1 in the last one (1), then zeros
//! 4 heard:    number of the series (4), longest rung heard (2), longest rung of it (2)
//! 5 fragment: number of the message (4), of the fragment (1), how many (1), length of the message (2),
//!             then a part of the message, and zeros in the last one
//! ```
//! Lengths are those of messages, before they are sealed. A REPORT's content is open (RFC 5740 4.4.1):
//! nodes that know nothing of this do nothing with it ([`Report::FROM_NOBODY`]).

use fanfare_wire::Report;

const MAGIC: [u8; 4] = *b"FFM1";
/// Bytes of a fragment beside its part of the message.
pub(super) const FRAGMENT_HEADER: usize = 8 + 4 + 1 + 8;
/// Bytes of a rung without its zeros.
pub(super) const RUNG_MIN: usize = 8 + 4 + 1 + 7;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathMessage<'a> {
    /// So many datagrams of about this length were sent since the last mark.
    Mark { longest: u16, count: u16 },
    /// Nothing of a mark's length was heard, `longest` at most.
    Deaf { longest: u16, wanted: u16 },
    /// A datagram of a length that is tried.
    Rung { series: u32, longest: u16, last: bool },
    /// What was heard of a series.
    Heard { series: u32, longest: u16, wanted: u16 },
    /// Part of a message.
    Fragment { id: u32, number: u8, count: u8, total: u16, part: &'a [u8] },
}

impl<'a> PathMessage<'a> {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(Report::FROM_NOBODY);
        out.extend(MAGIC);
        match *self {
            Self::Mark { longest, count } => {
                out.push(1);
                out.extend(longest.to_be_bytes());
                out.extend(count.to_be_bytes());
            }
            Self::Deaf { longest, wanted } => {
                out.push(2);
                out.extend(longest.to_be_bytes());
                out.extend(wanted.to_be_bytes());
            }
            Self::Rung { series, longest, last } => {
                out.push(3);
                out.extend(series.to_be_bytes());
                out.extend(longest.to_be_bytes());
                out.push(last.into());
            }
            Self::Heard { series, longest, wanted } => {
                out.push(4);
                out.extend(series.to_be_bytes());
                out.extend(longest.to_be_bytes());
                out.extend(wanted.to_be_bytes());
            }
            Self::Fragment { id, number, count, total, part } => {
                out.push(5);
                out.extend(id.to_be_bytes());
                out.extend([number, count]);
                out.extend(total.to_be_bytes());
                out.extend(part);
            }
        }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }

    /// Whether it is one of these, whole or not.
    pub(super) fn is_one(bytes: &[u8]) -> bool {
        bytes.strip_prefix(&Report::FROM_NOBODY).is_some_and(|rest| rest.starts_with(&MAGIC))
    }

    /// `None` for anything else.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(&Report::FROM_NOBODY)?.strip_prefix(&MAGIC)?;
        let [kind] = take(&mut rest)?;
        Some(match kind {
            1 => Self::Mark { longest: word(&mut rest)?, count: word(&mut rest)? },
            2 => Self::Deaf { longest: word(&mut rest)?, wanted: word(&mut rest)? },
            3 => {
                let series = u32::from_be_bytes(take(&mut rest)?);
                let (longest, [last]) = (word(&mut rest)?, take(&mut rest)?);
                Self::Rung { series, longest, last: last == 1 }
            }
            4 => {
                let series = u32::from_be_bytes(take(&mut rest)?);
                Self::Heard { series, longest: word(&mut rest)?, wanted: word(&mut rest)? }
            }
            5 => {
                let id = u32::from_be_bytes(take(&mut rest)?);
                let ([number, count], total) = (take(&mut rest)?, word(&mut rest)?);
                if number >= count || total == 0 || rest.is_empty() {
                    return None;
                }
                Self::Fragment { id, number, count, total, part: rest }
            }
            _ => return None,
        })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    rest.split_off(..N)?.try_into().ok()
}

fn word(rest: &mut &[u8]) -> Option<u16> {
    take(rest).map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [PathMessage<'_>; 5] = [
        PathMessage::Mark { longest: 1440, count: 7 },
        PathMessage::Deaf { longest: 300, wanted: 1440 },
        PathMessage::Rung { series: 70_000, longest: 1452, last: true },
        PathMessage::Heard { series: 70_000, longest: 1232, wanted: 1452 },
        PathMessage::Fragment { id: 9, number: 1, count: 2, total: 5, part: &[4, 5, 0] },
    ];

    #[test]
    fn a_message_reads_back_as_it_was_written_and_no_part_of_it_reads_as_one() {
        for message in ALL {
            let bytes = message.to_bytes();
            assert!(PathMessage::is_one(&bytes));
            assert_eq!(PathMessage::parse(&bytes), Some(message));
            let whole = if matches!(message, PathMessage::Fragment { .. }) { 3 } else { 1 };
            for length in 0..=bytes.len() - whole {
                assert_eq!(PathMessage::parse(&bytes[..length]), None, "{message:?} {length}");
            }
        }
    }

    #[test]
    fn the_headers_are_as_long_as_is_said() {
        let part = [0; 1];
        let fragment = PathMessage::Fragment { id: 0, number: 0, count: 1, total: 1, part: &part };
        assert_eq!(fragment.to_bytes().len(), FRAGMENT_HEADER + 1);
        assert_eq!(ALL[2].to_bytes().len(), RUNG_MIN);
    }

    #[test]
    fn a_fragment_beyond_its_number_an_empty_one_and_an_unknown_kind_are_nothing() {
        let part = [1];
        for (number, count, total) in [(2, 2, 9), (0, 0, 9), (0, 1, 0)] {
            let message = PathMessage::Fragment { id: 1, number, count, total, part: &part };
            assert_eq!(PathMessage::parse(&message.to_bytes()), None);
        }
        let mut unknown = ALL[0].to_bytes();
        unknown[12] = 6;
        assert_eq!(PathMessage::parse(&unknown), None);
    }
}
