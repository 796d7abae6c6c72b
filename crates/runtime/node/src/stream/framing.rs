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
    /// A line each: a newline ends it, and is no part of it.
    Line,
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
    /// A message of several lines cannot be one line.
    Newline,
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raw => write!(f, "stream: has no messages. Choose a framing"),
            Self::TooLong { bytes, max } => {
                write!(f, "message ({bytes} bytes): is longer than messages may be here ({max})")
            }
            Self::Length => write!(f, "stream: has a length that no message has"),
            Self::Newline => write!(f, "message: has a newline. Leave it out, or choose varint"),
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
            Self::Line => 3,
        }
    }

    pub(super) const fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Raw),
            1 => Some(Self::U16),
            2 => Some(Self::Varint),
            3 => Some(Self::Line),
            _ => None,
        }
    }

    /// What goes ahead of a message, and behind it.
    pub(super) fn frame(self, message: &[u8]) -> Result<(Vec<u8>, &'static [u8]), FramingError> {
        let bytes = message.len();
        match self {
            Self::Raw => Err(FramingError::Raw),
            Self::U16 if bytes > U16_MAX => {
                Err(FramingError::TooLong { bytes: bytes as u64, max: U16_MAX as u64 })
            }
            Self::U16 => Ok((((bytes + 2) as u16).to_be_bytes().to_vec(), b"")),
            Self::Varint => {
                let (mut head, mut left) = (Vec::new(), bytes as u64);
                while left >= 0x80 {
                    head.push(left as u8 | 0x80);
                    left >>= 7;
                }
                head.push(left as u8);
                Ok((head, b""))
            }
            Self::Line if message.contains(&b'\n') => Err(FramingError::Newline),
            Self::Line => Ok((Vec::new(), b"\n")),
        }
    }

    /// The message at the front of `bytes`, of which the end may still be to come. `None`: more is
    /// needed to say how long it is.
    pub(super) fn read(self, bytes: &[u8], max: u64) -> Result<Option<Frame>, FramingError> {
        let frame = match self {
            Self::Raw => return Err(FramingError::Raw),
            Self::U16 => match bytes {
                [high, low, ..] => {
                    let all = u64::from(u16::from_be_bytes([*high, *low]));
                    Some((2, all.checked_sub(2).ok_or(FramingError::Length)?, 0))
                }
                _ => None,
            },
            Self::Varint => read_varint(bytes)?.map(|(head, length)| (head, length, 0)),
            Self::Line => match bytes.iter().position(|byte| *byte == b'\n') {
                Some(length) => Some((0, length as u64, 1)),
                None if bytes.len() as u64 > max => Some((0, bytes.len() as u64, 1)),
                None => None,
            },
        };
        match frame {
            Some((_, bytes, _)) if bytes > max => Err(FramingError::TooLong { bytes, max }),
            Some((head, length, tail)) => Ok(Some(Frame { head, length: length as usize, tail })),
            None => Ok(None),
        }
    }
}

fn read_varint(bytes: &[u8]) -> Result<Option<(usize, u64)>, FramingError> {
    let mut length = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(VARINT_MAX) {
        length |= u64::from(byte & 0x7f) << (7 * at).min(63);
        if byte & 0x80 == 0 {
            return Ok(Some((at + 1, length)));
        }
    }
    if bytes.len() < VARINT_MAX { Ok(None) } else { Err(FramingError::Length) }
}

/// Where a message is: bytes before it, its own, and bytes behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) head: usize,
    pub(super) length: usize,
    pub(super) tail: usize,
}

/// Finds messages in what arrives.
#[derive(Debug)]
pub(super) struct Unframer {
    framing: Framing,
    /// It is known whether the stream has messages: from the options, or from the sender.
    known: bool,
    max: u64,
    /// Most bytes kept as long as nothing is known.
    room: usize,
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
    /// What comes before it in the stream has not come yet.
    pub(super) early: bool,
}

impl Unframer {
    pub(super) fn new(framing: Framing, max: usize, room: usize) -> Self {
        let (known, max) = (framing != Framing::Raw, max as u64);
        let (bytes, taken, offset) = (Vec::new(), 0, 0);
        Self { framing, known, max, room, bytes, taken, offset, aligned: false, gap: false }
    }

    /// The sender says how messages are told apart, or that there are none. Where it says nothing of them, the
    /// options hold.
    pub(super) fn set_framing(&mut self, framing: Framing) {
        self.known = true;
        if framing != Framing::Raw {
            self.framing = framing;
        }
    }

    pub(super) fn framing(&self) -> Framing {
        self.framing
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

    /// Something is left that no framing tells apart.
    pub(super) fn is_unframed(&self) -> bool {
        self.framing == Framing::Raw && self.taken < self.bytes.len()
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
        if !self.aligned || rest.is_empty() || !self.known && rest.len() < self.room {
            return Ok(None);
        }
        let frame = match self.framing.read(rest, self.max) {
            Ok(frame) => frame,
            Err(error) => {
                self.lose();
                return Err(error);
            }
        };
        let Some(Frame { head, length, tail }) = frame else { return Ok(None) };
        let whole = head + length + tail;
        let Some(bytes) = rest.get(..whole).map(|all| &all[head..head + length]) else {
            return Ok(None);
        };
        let (bytes, offset) = (bytes.to_vec(), self.offset);
        self.taken += whole;
        self.offset += whole as u64;
        let gap_before = std::mem::take(&mut self.gap);
        Ok(Some(Found { bytes, offset, gap_before, early: false }))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::stream) fn framed(framing: Framing, messages: &[&[u8]]) -> Vec<u8> {
        let one = |message: &&[u8]| {
            let (head, tail) = framing.frame(message).unwrap();
            [&head[..], message, tail].concat()
        };
        messages.iter().flat_map(one).collect()
    }

    fn all(unframer: &mut Unframer) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| unframer.next().unwrap().map(|found| found.bytes)).collect()
    }

    #[test]
    fn messages_come_out_as_they_went_in_however_they_are_cut() {
        let long = vec![7; 60_000];
        let messages: [&[u8]; 4] = [b"one", b"", &long, b"four"];
        for framing in [Framing::U16, Framing::Varint, Framing::Line] {
            let bytes = framed(framing, &messages);
            for cut in [1, 2, 3, 1000, 100_000] {
                let mut unframer = Unframer::new(framing, 1 << 20, 1 << 20);
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
        let mut unframer = Unframer::new(framing, 100, 1 << 20);
        unframer.take(&framed(framing, &[b"one", b"two"])[..6], 0, Some(0));
        assert_eq!(all(&mut unframer), [b"one"]);
        unframer.lose();
        let rest = [&b"wo"[..], &framed(framing, &[b"three"])].concat();
        unframer.take(&rest, 50, Some(2));
        let found = unframer.next().unwrap().unwrap();
        let (bytes, offset) = (b"three".to_vec(), 52);
        assert_eq!(found, Found { bytes, offset, gap_before: true, early: false });
    }

    #[test]
    fn what_comes_before_word_of_the_framing_waits_for_it() {
        let bytes = framed(Framing::U16, &[b"one", b"two"]);
        let mut unframer = Unframer::new(Framing::Raw, 100, 100);
        unframer.take(&bytes[..7], 0, Some(0));
        assert_eq!(unframer.next(), Ok(None));
        unframer.take(&bytes[7..], 7, None);
        unframer.set_framing(Framing::U16);
        assert_eq!(all(&mut unframer), [&b"one"[..], b"two"]);

        // A stream without messages is told of at once, and one that says nothing when its room is full.
        let mut none = Unframer::new(Framing::Raw, 100, 100);
        none.take(&bytes, 0, Some(0));
        none.set_framing(Framing::Raw);
        assert_eq!(none.next(), Err(FramingError::Raw));
        let mut silent = Unframer::new(Framing::Raw, 100, 100);
        silent.take(&[7; 99], 0, Some(0));
        assert_eq!(silent.next(), Ok(None));
        assert!(silent.is_unframed());
        silent.take(&[7], 99, None);
        assert_eq!(silent.next(), Err(FramingError::Raw));

        // What the options say holds where the sender says nothing.
        let mut told = Unframer::new(Framing::U16, 100, 100);
        told.set_framing(Framing::Raw);
        told.take(&bytes, 0, Some(0));
        assert_eq!(all(&mut told), [&b"one"[..], b"two"]);
    }

    #[test]
    fn lengths_that_cannot_be_are_told_once() {
        for (framing, bytes) in [
            (Framing::U16, &[0, 1, 9, 9][..]),
            (Framing::Varint, &[0xff; 12]),
            (Framing::Varint, &[0xff, 0xff, 3]),
            (Framing::Line, &[b'a'; 101]),
        ] {
            let mut unframer = Unframer::new(framing, 100, 1 << 20);
            unframer.take(bytes, 0, Some(0));
            assert!(unframer.next().is_err(), "{framing:?}");
            assert_eq!(unframer.next(), Ok(None));
        }
        assert!(Framing::U16.frame(&[0; 65_534]).is_err() && Framing::Raw.frame(b"1").is_err());
        assert_eq!(Framing::Line.frame(b"a\nb"), Err(FramingError::Newline));
    }
}
