//! NORM_CMD(ACK_REQ): asks named receivers for an acknowledgement (RFC 5740 4.2.3.6).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |           common header and sender fields (12 bytes)          |
//! +---------------+---------------+---------------+---------------+
//! |  flavor = 6   |   reserved    |   ack_type    |    ack_id     |
//! +---------------+---------------+---------------+---------------+
//! |        extensions, then acking nodes, 4 bytes each            |
//! +---------------------------------------------------------------+
//! ```

use super::{NodeIds, open};
use crate::{NodeId, WireError, ext::Extensions, frame::FrameReader, header::SenderFields};
use alloc::vec::Vec;
use core::fmt;

/// A parsed ACK_REQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckReq<'a> {
    /// Who sends.
    pub sender: SenderFields,
    /// Kind of acknowledgement wanted (see [`crate::AckKind`]).
    pub ack_type: u8,
    /// Distinguishes requests of one type.
    pub ack_id: u8,
    /// Header extensions.
    pub extensions: Extensions<'a>,
    /// Who must answer.
    pub acking_nodes: NodeIds<'a>,
}

impl<'a> AckReq<'a> {
    /// Flavor of the command.
    pub(crate) const FLAVOR: u8 = 6;

    /// Reads what follows the flavor.
    pub(crate) fn parse(
        sender: SenderFields,
        mut reader: FrameReader<'a>,
    ) -> Result<Self, WireError> {
        let _reserved = reader.u8()?;
        let (ack_type, ack_id) = (reader.u8()?, reader.u8()?);
        let (extensions, list) = reader.finish()?;
        let acking_nodes = NodeIds::parse(list)?;
        Ok(Self { sender, ack_type, ack_id, extensions, acking_nodes })
    }
}

impl AckReq<'_> {
    /// Appends the message with `nodes` as the acking list.
    pub fn encode(&self, nodes: &[NodeId], out: &mut Vec<u8>) {
        let mut writer = open(&self.sender, Self::FLAVOR, out);
        writer.u8(0);
        writer.u8(self.ack_type);
        writer.u8(self.ack_id);
        self.extensions.append_others(&[], writer.extensions());
        NodeIds::append(nodes, writer.finish());
    }
}

impl fmt::Display for AckReq<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sender, ack_type, ack_id, extensions, acking_nodes } = self;
        write!(f, "CMD(ACK_REQ) {sender} type {ack_type} id {ack_id}")?;
        write!(f, "{extensions} acking {acking_nodes}")
    }
}

#[cfg(test)]
mod tests {
    use crate::{Message, golden};
    use alloc::format;

    /// Laid out by hand from the RFC: NRL's code does not send this.
    #[test]
    fn a_message_after_the_rfc_is_read_and_written_again() {
        let bytes = golden::hex("13040007 00000001 12349542 06001003 00000002 ffffffff");
        let message = Message::parse(&bytes).expect("well formed");
        assert_eq!(
            format!("{message}"),
            "CMD(ACK_REQ) 00000001/1234 seq 7 grtt 287.6ms k 4 gsize 1000 type 16 id 3 acking [00000002 ffffffff]"
        );
        assert_eq!(golden::encoded(&message), bytes);
    }
}
