//! NORM_REPORT: reserved for statistics; no content is defined (RFC 5740 4.4.1).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                    common header (8 bytes)                    |
//! +---------------------------------------------------------------+
//! |               extensions, then opaque content                 |
//! +---------------------------------------------------------------+
//! ```

use crate::frame::{FrameReader, FrameWriter};
use crate::{NodeId, Sequence, WireError, ext::Extensions, header::VERSION};
use alloc::vec::Vec;
use core::fmt;

/// A parsed NORM_REPORT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report<'a> {
    /// Message counter.
    pub sequence: Sequence,
    /// Who reports.
    pub source_id: NodeId,
    /// Header extensions.
    pub extensions: Extensions<'a>,
    /// Opaque content.
    pub payload: &'a [u8],
}

impl<'a> Report<'a> {
    /// Message type.
    pub(crate) const TYPE: u8 = 6;

    /// The header of a REPORT from nobody (`NORM_NODE_NONE`). It stands ahead of what Fanfare says at a
    /// port beside NORM. RFC 5740 4.4.1 leaves the content of reports open, so other nodes take it for a
    /// message of NORM and do nothing with it. What is no message at all disturbs some: libnorm 1.5.x then
    /// reads the next datagram wrong.
    pub const FROM_NOBODY: [u8; 8] = [VERSION << 4 | Self::TYPE, 2, 0, 0, 0, 0, 0, 0];

    pub(crate) fn parse(mut reader: FrameReader<'a>) -> Result<Self, WireError> {
        let sequence = Sequence(reader.u16()?);
        let source_id = NodeId(reader.u32()?);
        let (extensions, payload) = reader.finish()?;
        Ok(Self { sequence, source_id, extensions, payload })
    }
}

impl Report<'_> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut writer = FrameWriter::open(Self::TYPE, self.sequence, self.source_id, out);
        self.extensions.append_others(&[], writer.extensions());
        writer.finish().extend_from_slice(self.payload);
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sequence, source_id, extensions, payload } = self;
        write!(f, "REPORT {source_id} seq {sequence}{extensions} len {}", payload.len())
    }
}

#[cfg(test)]
mod tests {
    use super::Report;
    use crate::{Message, NodeId, golden};
    use alloc::format;

    /// Laid out by hand from the RFC: NRL's code does not send this.
    #[test]
    fn a_message_after_the_rfc_is_read_and_written_again() {
        let bytes = golden::hex("16030007 00000001 630100ff 0102");
        let message = Message::parse(&bytes).expect("well formed");
        assert_eq!(format!("{message}"), "REPORT 00000001 seq 7 ext 99(2 bytes) len 2");
        assert_eq!(golden::encoded(&message), bytes);
    }

    #[test]
    fn what_we_say_beside_norm_is_a_report_from_nobody() {
        let mut bytes = Report::FROM_NOBODY.to_vec();
        bytes.extend(b"FFS1");
        let Ok(Message::Report(report)) = Message::parse(&bytes) else { panic!("a REPORT") };
        assert_eq!((report.source_id, report.payload), (NodeId::NONE, &b"FFS1"[..]));
    }
}
