//! Frames between group nodes, in NORM_CMD(APPLICATION). Plain NORM nodes pass it to their
//! application, or drop it. Where all nodes heard are group nodes, all frames but long
//! announcements travel in NORM_REPORT, whose header is eight bytes shorter and does not have the
//! sender's instance and timing. Such a frame begins with "F" alone.
//!
//! ```text
//! "FG" | version 2 (4) kind (4) | REPAIR (1): a NORM_INFO or NORM_DATA of the origin
//!                               | COMPACT (5): short messages of origins, see `compact_info`
//!                               | STATE (6):  see `state`
//!                               | SUM (7):    see [`Sum`]
//!                               | CODED (8):  see `coded_packet`
//!                               | NACK (9):   see `nack`
//!                               | NOTE (10):  see `fanfare_monitor`; said once, not repaired
//! ```
//!
//! A repair has the origin's own message as the origin would send it, with sequence number 0:
//! source id, instance, object, payload id, EXT_FTI, symbol. Earlier versions had kinds 2 to 4.
//! Frames of version 1 began otherwise, and this version does not recognise them.

use crate::message::coding::coded_packet::CodedPacket;
use alloc::vec::Vec;
use fanfare_proto::{Combination, RunSet, SUM_SYMBOLS_MAX};
use fanfare_wire::{Cmd, Data, Message, ext::Extensions};

const MAGIC: [u8; 2] = *b"FG";
const VERSION: u8 = 2;
/// Bytes before a frame's content, in a command.
pub const HEADER: usize = 3;

/// What a message of a group node's is called: `repair`, `compact_info`, `state`, `sum`, `coded_packet`, `nack`, `note`; `None` where it is
/// none. For people who read traces.
#[must_use]
pub fn frame_name(message: &Message<'_>) -> Option<&'static str> {
    let name = match Frame::of(message)?.0 {
        Frame::Repair(_) => "repair",
        Frame::CompactInfo(_) => "compact",
        Frame::State(_) => "state",
        Frame::Sum(_) => "sum",
        Frame::CodedPacket(_) => "coded",
        Frame::Nack(_) => "nack",
        Frame::Note(_) => "note",
        Frame::Unknown => "unknown frame",
    };
    Some(name)
}

/// Kinds of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Symbols sent in place of their sender.
    Repair,
    /// Descriptions in the compact form.
    CompactInfo,
    /// What a node has and lacks.
    State,
    /// A sum of symbols of one block.
    Sum,
    /// A sum over several objects.
    CodedPacket,
    /// A compact request.
    Nack,
    /// Of the monitor.
    Note,
}

/// A sum of symbols of a part of a block.
///
/// ```text
/// seed (8) | bytes of the bitmap (8) | bitmap, the first symbol its highest bit
/// | NORM_DATA of the origin: the block's first parity symbol, but the bytes are the sum's
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum<'a> {
    /// Which combination of symbols.
    pub of: Combination,
    /// The data that carries it.
    pub data: Data<'a>,
}

impl<'a> Sum<'a> {
    /// Writes what comes before the NORM_DATA.
    pub fn append(seed: u8, of: &RunSet, out: &mut Vec<u8>) {
        let end = of.iter().last().map_or(0, |(_, end)| end);
        out.extend([seed, end.div_ceil(8) as u8]);
        let bit = |symbol: u64| u8::from(of.contains(symbol)) << (7 - symbol % 8);
        let bytes = (0..end).step_by(8).map(|at| (at..at + 8).fold(0, |byte, s| byte | bit(s)));
        out.extend(bytes);
    }

    fn parse(body: &'a [u8]) -> Option<Self> {
        let &[seed, bytes, ref rest @ ..] = body else { return None };
        let (bitmap, message) = rest.split_at_checked(usize::from(bytes))?;
        let in_it = |symbol: &u16| bitmap[usize::from(symbol / 8)] << (symbol % 8) & 0x80 != 0;
        let symbols: Vec<u16> = (0..u16::from(bytes) * 8).filter(in_it).collect();
        let within = symbols.last().is_some_and(|last| *last < SUM_SYMBOLS_MAX);
        match Message::parse(message) {
            Ok(Message::Data(data)) if symbols.len() >= 2 && within => {
                Some(Self { of: Combination { seed, symbols }, data })
            }
            _ => None,
        }
    }
}

impl Kind {
    /// What a frame of this kind begins with, in a command.
    pub fn header(self) -> [u8; HEADER] {
        [MAGIC[0], MAGIC[1], self.byte()]
    }

    /// What it begins with in a report: those are of others hardly ever.
    pub fn report_header(self) -> [u8; HEADER - 1] {
        [MAGIC[0], self.byte()]
    }

    fn byte(self) -> u8 {
        let kind = match self {
            Self::Repair => 1,
            Self::CompactInfo => 5,
            Self::State => 6,
            Self::Sum => 7,
            Self::CodedPacket => 8,
            Self::Nack => 9,
            Self::Note => 10,
        };
        VERSION << 4 | kind
    }
}

/// A frame that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Somebody forwards a message of an origin, which was requested.
    Repair(Message<'a>),
    /// Bytes of short messages forwarded.
    CompactInfo(&'a [u8]),
    /// Bytes of an announcement.
    State(&'a [u8]),
    /// A sum of symbols of an origin's block, which was requested.
    Sum(Sum<'a>),
    /// A sum over several objects of an origin.
    CodedPacket(CodedPacket<'a>),
    /// Bytes of a NACK in few.
    Nack(&'a [u8]),
    /// Bytes of what a monitor says.
    Note(&'a [u8]),
    /// Ours, but broken, or of a version that is not known here.
    Unknown,
}

impl<'a> Frame<'a> {
    /// What a command or a report carries, and the extensions before it; `None` when that is some other
    /// application's, or the message another one.
    pub fn of(message: &Message<'a>) -> Option<(Self, Extensions<'a>)> {
        match message {
            Message::Cmd(Cmd::Application(command)) => {
                Some((Self::parse(command.content)?, command.extensions))
            }
            Message::Report(report) => {
                let frame = report.payload.strip_prefix(&MAGIC[..1])?;
                Some((Self::read(frame), report.extensions))
            }
            _ => None,
        }
    }

    /// Reads a command's content; `None` when it is some other application's.
    pub fn parse(content: &'a [u8]) -> Option<Self> {
        content.strip_prefix(&MAGIC).map(Self::read)
    }

    /// Reads what follows the mark of ours.
    fn read(frame: &'a [u8]) -> Self {
        let &[kind, ref body @ ..] = frame else { return Self::Unknown };
        match (kind >> 4, kind & 0x0f) {
            (VERSION, 1) => match Message::parse(body) {
                Ok(message @ (Message::Info(_) | Message::Data(_))) => Self::Repair(message),
                _ => Self::Unknown,
            },
            (VERSION, 5) => Self::CompactInfo(body),
            (VERSION, 6) => Self::State(body),
            (VERSION, 7) => Sum::parse(body).map_or(Self::Unknown, Self::Sum),
            (VERSION, 8) => CodedPacket::parse(body).map_or(Self::Unknown, Self::CodedPacket),
            (VERSION, 9) => Self::Nack(body),
            (VERSION, 10) => Self::Note(body),
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use fanfare_proto::NodeId;
    use fanfare_wire::{Report, Sequence};
    use proptest::prelude::*;

    /// A NORM_DATA of node 1, object 0, block 24, symbol 7: its golden bytes in fanfare-wire.
    const DATA: [u8; 35] = [
        0x12, 0x08, 0, 0, 0, 0, 0, 1, 0x12, 0x34, 0xa6, 0x42, 0x04, 5, 0, 0, 0, 0, 0x18, 7, 0x40,
        3, 0, 0, 0, 6, 0x1a, 0x80, 3, 0xe8, 0x10, 4, b'a', b'b', b'c',
    ];

    #[test]
    fn golden_bytes_of_a_repair_are_the_origins_message_behind_three_bytes() {
        let bytes = [&b"FG\x21"[..], &DATA].concat();
        assert_eq!(bytes[..HEADER], Kind::Repair.header());
        let Some(Frame::Repair(Message::Data(data))) = Frame::parse(&bytes) else {
            panic!("a repair")
        };
        assert_eq!((data.sender.source_id.0, data.payload), (1, &b"abc"[..]));
    }

    #[test]
    fn a_report_of_ours_begins_with_one_byte_and_carries_the_same() {
        let report = |payload: &[u8]| {
            let (sequence, source_id) = (Sequence(7), NodeId(9));
            let extensions = Extensions::default();
            let mut out = Vec::new();
            Report { sequence, source_id, extensions, payload }.encode(&mut out);
            let message = Message::parse(&out).unwrap();
            Frame::of(&message).map(|(frame, _)| matches!(frame, Frame::CompactInfo(b"abc")))
        };
        assert_eq!(Kind::CompactInfo.report_header(), *b"F\x25");
        assert_eq!(report(b"F\x25abc"), Some(true));
        assert_eq!((report(b"FG\x25abc"), report(b"F")), (Some(false), Some(false)));
        assert_eq!((report(b"abc"), report(b"")), (None, None));
    }

    #[test]
    fn another_applications_command_is_not_ours_and_another_version_is_not_read() {
        assert_eq!(Frame::parse(b"FH\x21"), None);
        assert_eq!(Frame::parse(b"F"), None);
        for bytes in [&b"FG"[..], b"FG\x31", b"FG\x2b", b"FG\x21abc"] {
            assert_eq!(Frame::parse(bytes), Some(Frame::Unknown));
        }
        for kind in [0x22, 0x23, 0x24, 0x01] {
            let earlier = [&b"FG"[..], &[kind], &DATA].concat();
            assert_eq!(Frame::parse(&earlier), Some(Frame::Unknown));
        }
    }

    #[test]
    fn golden_bytes_of_a_sum_name_its_seed_and_symbols_before_the_origins_message() {
        let mut of = RunSet::default();
        [(0, 2), (7, 10)].into_iter().for_each(|(first, end)| of.insert(first, end));
        let mut bytes = Kind::Sum.header().to_vec();
        Sum::append(9, &of, &mut bytes);
        assert_eq!(bytes, b"FG\x27\x09\x02\xc1\xc0");
        bytes.extend_from_slice(&DATA);
        let Some(Frame::Sum(sum)) = Frame::parse(&bytes) else { panic!("a sum") };
        assert_eq!((sum.of.seed, &sum.of.symbols[..]), (9, &[0, 1, 7, 8, 9][..]));
        assert_eq!(sum.data.payload, b"abc");
    }

    #[test]
    fn a_sum_is_of_two_symbols_at_least_and_of_none_that_no_block_of_sums_has() {
        let sum = |bitmap: &[u8]| {
            let named = [&[0x27, 0, bitmap.len() as u8], bitmap].concat();
            let bytes = [&b"FG"[..], &named, &DATA].concat();
            matches!(Frame::parse(&bytes), Some(Frame::Sum(_)))
        };
        assert!(sum(&[0xc0]));
        assert!(sum(&[&[0x80][..], &[0; 10], &[1]].concat()));
        for bitmap in [&[][..], &[0x80], &[0xff; 13]] {
            assert!(!sum(bitmap));
        }
        assert_eq!(Frame::parse(b"FG\x27\x00\x40\xff"), Some(Frame::Unknown));
    }

    #[test]
    fn a_repair_carries_no_feedback_and_no_command() {
        let nack =
            [0x14, 6, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert!(matches!(Message::parse(&nack), Ok(Message::Nack(_))));
        let bytes = [&b"FG\x21"[..], &nack].concat();
        assert_eq!(Frame::parse(&bytes), Some(Frame::Unknown));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(kind in 0..11_u8, bytes: Vec<u8>) {
            Frame::parse(&bytes);
            Frame::parse(&[&b"FG"[..], &[0x20 | kind], &bytes].concat());
        }
    }
}
