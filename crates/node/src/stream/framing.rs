//! Messages in a stream of bytes. Each begins at a mark, so that whoever comes late, or has lost
//! something, finds the next one.

use std::fmt;

/// How messages are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// Not at all: a stream of bytes.
    #[default]
    Raw,
    /// Two bytes of length, most significant first, that count themselves: at most 65,533 bytes. So
    /// do NRL's normStreamer, normStreamSend and normStreamRecv.
    U16,
    /// The length in groups of seven bits, the lowest first (LEB128): any length.
    Varint,
}

/// Why a message cannot be framed, or what arrived is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramingError {
    /// The stream has no framing.
    Raw,
    /// The message is longer than fits.
    TooLong {
        /// Its bytes.
        bytes: u64,
        /// The most.
        max: u64,
    },
    /// A length that no message has.
    Length,
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raw => write!(f, "stream: has no messages. Choose a framing"),
            Self::TooLong { bytes, max } => {
                write!(f, "message ({bytes} bytes): is longer than messages may be here ({max})")
            }
            Self::Length => write!(f, "stream: has a length that no message has"),
        }
    }
}

impl std::error::Error for FramingError {}

/// Longest message with two bytes of length.
const U16_MAX: usize = 65_533;
/// Bytes of the longest length in groups of seven bits.
const VARINT_MAX: usize = 10;

impl Framing {
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Raw => 0,
            Self::U16 => 1,
            Self::Varint => 2,
        }
    }

    pub(super) const fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Raw),
            1 => Some(Self::U16),
            2 => Some(Self::Varint),
            _ => None,
        }
    }

    /// What goes ahead of a message of so many bytes.
    pub(super) fn head(self, bytes: usize) -> Result<Vec<u8>, FramingError> {
        match self {
            Self::Raw => Err(FramingError::Raw),
            Self::U16 if bytes > U16_MAX => {
                Err(FramingError::TooLong { bytes: bytes as u64, max: U16_MAX as u64 })
            }
            Self::U16 => Ok(((bytes + 2) as u16).to_be_bytes().to_vec()),
            Self::Varint => {
                let (mut head, mut left) = (Vec::new(), bytes as u64);
                while left >= 0x80 {
                    head.push(left as u8 | 0x80);
                    left >>= 7;
                }
                head.push(left as u8);
                Ok(head)
            }
        }
    }

    /// The length at the front of `bytes`: of the head and of the message behind it. `None`: more is
    /// needed.
    fn read(self, bytes: &[u8]) -> Result<Option<(usize, u64)>, FramingError> {
        match (self, bytes) {
            (Self::Raw, _) => Err(FramingError::Raw),
            (Self::U16, [high, low, ..]) => {
                let all = u64::from(u16::from_be_bytes([*high, *low]));
                Ok(Some((2, all.checked_sub(2).ok_or(FramingError::Length)?)))
            }
            (Self::U16, _) => Ok(None),
            (Self::Varint, bytes) => {
                let mut length = 0_u64;
                for (at, byte) in bytes.iter().enumerate().take(VARINT_MAX) {
                    length |= u64::from(byte & 0x7f) << (7 * at).min(63);
                    if byte & 0x80 == 0 {
                        return Ok(Some((at + 1, length)));
                    }
                }
                if bytes.len() < VARINT_MAX { Ok(None) } else { Err(FramingError::Length) }
            }
        }
    }
}

/// Finds messages in what arrives.
#[derive(Debug)]
pub(super) struct Unframer {
    framing: Framing,
    max: u64,
    /// What has arrived of messages not given yet.
    bytes: Vec<u8>,
    taken: usize,
    /// Position of the byte at `taken` in the stream.
    offset: u64,
    /// A message begins at `taken`.
    aligned: bool,
    /// Something was lost before the next message.
    gap: bool,
}

/// A message, and whether something was lost before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    pub(super) offset: u64,
    pub(super) gap_before: bool,
}

impl Unframer {
    pub(super) fn new(framing: Framing, max: usize) -> Self {
        let max = max as u64;
        let (bytes, taken, offset) = (Vec::new(), 0, 0);
        Self { framing, max, bytes, taken, offset, aligned: false, gap: false }
    }

    pub(super) fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
    }

    /// Bytes arrived, of which the first marked message begins at `msg_start`.
    pub(super) fn take(&mut self, bytes: &[u8], offset: u64, msg_start: Option<usize>) {
        self.aligned |= offset == 0 && self.bytes.len() == self.taken;
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        if self.aligned {
            if self.bytes.is_empty() {
                self.offset = offset;
            }
            return self.bytes.extend_from_slice(bytes);
        }
        self.gap |= offset > 0 || msg_start != Some(0);
        if let Some(start) = msg_start {
            (self.aligned, self.offset) = (true, offset + start as u64);
            self.bytes.clear();
            self.bytes.extend_from_slice(&bytes[start..]);
        }
    }

    /// Bytes are lost: what has begun does not end.
    pub(super) fn lose(&mut self) {
        self.bytes.clear();
        self.taken = 0;
        (self.aligned, self.gap) = (false, true);
    }

    /// The next whole message. An impossible length is told once; the next marked message goes on.
    pub(super) fn next(&mut self) -> Result<Option<Found>, FramingError> {
        let rest = &self.bytes[self.taken..];
        if !self.aligned || rest.is_empty() {
            return Ok(None);
        }
        let read = self.framing.read(rest).and_then(|read| match read {
            Some((_, bytes)) if bytes > self.max => {
                Err(FramingError::TooLong { bytes, max: self.max })
            }
            read => Ok(read),
        });
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                self.lose();
                return Err(error);
            }
        };
        let Some((head, length)) = read else { return Ok(None) };
        let whole = head + length as usize;
        let Some(bytes) = rest.get(head..whole) else { return Ok(None) };
        let (bytes, offset) = (bytes.to_vec(), self.offset);
        self.taken += whole;
        self.offset += whole as u64;
        Ok(Some(Found { bytes, offset, gap_before: std::mem::take(&mut self.gap) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(framing: Framing, messages: &[&[u8]]) -> Vec<u8> {
        let one = |message: &&[u8]| [&framing.head(message.len()).unwrap()[..], message].concat();
        messages.iter().flat_map(one).collect()
    }

    fn all(unframer: &mut Unframer) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| unframer.next().unwrap().map(|found| found.bytes)).collect()
    }

    #[test]
    fn messages_come_out_as_they_went_in_however_they_are_cut() {
        let long = vec![7; 60_000];
        let messages: [&[u8]; 4] = [b"one", b"", &long, b"four"];
        for framing in [Framing::U16, Framing::Varint] {
            let bytes = framed(framing, &messages);
            for cut in [1, 2, 3, 1000, 100_000] {
                let mut unframer = Unframer::new(framing, 1 << 20);
                let (mut got, mut offset) = (Vec::new(), 0);
                for piece in bytes.chunks(cut) {
                    unframer.take(piece, offset, (offset == 0).then_some(0));
                    offset += piece.len() as u64;
                    got.extend(all(&mut unframer));
                }
                assert_eq!(got, messages, "{framing:?} {cut}");
            }
        }
    }

    #[test]
    fn after_a_gap_the_next_marked_message_goes_on() {
        let framing = Framing::Varint;
        let mut unframer = Unframer::new(framing, 100);
        unframer.take(&framed(framing, &[b"one", b"two"])[..6], 0, Some(0));
        assert_eq!(all(&mut unframer), [b"one"]);
        unframer.lose();
        let rest = [&b"wo"[..], &framed(framing, &[b"three"])].concat();
        unframer.take(&rest, 50, Some(2));
        let found = unframer.next().unwrap().unwrap();
        assert_eq!(found, Found { bytes: b"three".to_vec(), offset: 52, gap_before: true });
    }

    #[test]
    fn lengths_that_cannot_be_are_told_once() {
        for (framing, bytes) in [
            (Framing::U16, &[0, 1, 9, 9][..]),
            (Framing::Varint, &[0xff; 12]),
            (Framing::Varint, &[0xff, 0xff, 3]),
        ] {
            let mut unframer = Unframer::new(framing, 100);
            unframer.take(bytes, 0, Some(0));
            assert!(unframer.next().is_err(), "{framing:?}");
            assert_eq!(unframer.next(), Ok(None));
        }
        assert!(Framing::U16.head(65_534).is_err() && Framing::Raw.head(1).is_err());
    }
}
