//! An enum of all messages, for dispatch.

use crate::{Ack, Cmd, Data, Info, Nack, Report, WireError, frame::FrameReader};
use alloc::vec::Vec;
use core::fmt;

/// One datagram's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// NORM_INFO.
    Info(Info<'a>),
    /// NORM_DATA.
    Data(Data<'a>),
    /// NORM_CMD.
    Cmd(Cmd<'a>),
    /// NORM_NACK.
    Nack(Nack<'a>),
    /// NORM_ACK.
    Ack(Ack<'a>),
    /// NORM_REPORT.
    Report(Report<'a>),
}

impl<'a> Message<'a> {
    /// Parses a whole datagram; every length in it is checked here.
    ///
    /// Reserved fields, and bytes behind messages that have no content, are ignored.
    ///
    /// # Errors
    /// The first thing found wrong; see [`WireError`].
    pub fn parse(datagram: &'a [u8]) -> Result<Self, WireError> {
        let (kind, reader) = FrameReader::open(datagram)?;
        match kind {
            Info::TYPE => Info::parse(reader).map(Self::Info),
            Data::TYPE => Data::parse(reader).map(Self::Data),
            Cmd::TYPE => Cmd::parse(reader).map(Self::Cmd),
            Nack::TYPE => Nack::parse(reader).map(Self::Nack),
            Ack::TYPE => Ack::parse(reader).map(Self::Ack),
            Report::TYPE => Report::parse(reader).map(Self::Report),
            unknown => Err(WireError::UnknownType(unknown)),
        }
    }
}

impl Message<'_> {
    /// Appends the message again as it was parsed, payload included.
    ///
    /// The bytes are those of the datagram, but for what parsing ignores: reserved fields become
    /// zero, and of several extensions of one type that the encoder knows only the first stays,
    /// ahead of those it does not know.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Info(m) => m.encode(m.extensions.fti(m.fec_id).as_ref(), out),
            Self::Data(m) => {
                m.encode_header(m.extensions.fti(m.payload_id.fec_id).as_ref(), out);
                out.extend_from_slice(m.payload);
            }
            Self::Cmd(m) => m.encode(out),
            Self::Nack(m) => m.encode(m.extensions.cc().as_ref(), m.requests.as_bytes(), out),
            Self::Ack(m) => {
                let app = m.extensions.app_ack().map(|app| app.content);
                m.encode(m.extensions.cc().as_ref(), app, out);
            }
            Self::Report(m) => m.encode(out),
        }
    }
    /// Who sent it, by its own word.
    #[must_use]
    pub fn source_id(&self) -> crate::NodeId {
        match self {
            Self::Info(m) => m.sender.source_id,
            Self::Data(m) => m.sender.source_id,
            Self::Cmd(m) => m.sender().source_id,
            Self::Nack(m) => m.feedback.source_id,
            Self::Ack(m) => m.feedback.source_id,
            Self::Report(m) => m.source_id,
        }
    }
}

/// One line, in the manner of tcpdump.
impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Info(m) => m.fmt(f),
            Self::Data(m) => m.fmt(f),
            Self::Cmd(m) => m.fmt(f),
            Self::Nack(m) => m.fmt(f),
            Self::Ack(m) => m.fmt(f),
            Self::Report(m) => m.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::hex;

    #[test]
    fn types_and_flavors_without_a_meaning_are_refused() {
        for kind in [0_u8, 7, 8, 15] {
            let datagram = [0x10 | kind, 2, 0, 0, 0, 0, 0, 1];
            assert_eq!(Message::parse(&datagram), Err(WireError::UnknownType(kind)));
        }
        for flavor in [0_u8, 8, 255] {
            let mut datagram = hex("13040007 00000001 12349542 00000000");
            datagram[12] = flavor;
            assert_eq!(Message::parse(&datagram), Err(WireError::UnknownFlavor(flavor)));
        }
    }

    #[test]
    fn unknown_extensions_do_not_hide_the_known_one_and_survive_encoding() {
        let datagram =
            hex("13090009 00000001 12349542 04000003 6b00e614 000ccced c8010203 800060e3 63010004");
        let message = Message::parse(&datagram).expect("well formed");
        let Message::Cmd(Cmd::Cc(cc)) = message else { panic!("a CC") };
        assert_eq!(cc.extensions.rate().map(|ext| ext.rate.0), Some(0x60e3));
        let mut out = Vec::new();
        message.encode(&mut out);
        assert_eq!(out[24..], hex("800060e3 c8010203 63010004"));
    }

    #[test]
    fn flags_are_named_and_those_without_a_name_are_numbers() {
        assert_eq!(alloc::format!("{}", crate::ObjectFlags(0)), "-");
        assert_eq!(alloc::format!("{}", crate::ObjectFlags(0x84)), "INFO|0x80");
    }
}
