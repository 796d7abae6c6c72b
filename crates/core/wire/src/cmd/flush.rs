//! NORM_CMD(FLUSH): end of transmission or watermark (RFC 5740 4.2.3.1).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |           common header and sender fields (12 bytes)          |
//! +---------------+---------------+-------------------------------+
//! |  flavor = 1   |    fec_id     |      object_transport_id      |
//! +---------------+---------------+-------------------------------+
//! |          fec_payload_id (4 bytes; 8 for encoding id 129)      |
//! +---------------------------------------------------------------+
//! |   extensions (APP_ACK), then acking nodes, 4 bytes each       |
//! +---------------------------------------------------------------+
//! ```

use super::{open, whole_items};
use crate::{
    FecId, NodeId, ObjectTransportId, WireError,
    ext::{AppAck, Extensions},
    fec::RawPayloadId,
    frame::FrameReader,
    header::SenderFields,
};
use alloc::vec::Vec;
use core::fmt;

/// A parsed FLUSH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flush<'a> {
    /// Who sends.
    pub sender: SenderFields,
    /// The object reached.
    pub object_transport_id: ObjectTransportId,
    /// The symbol reached in it.
    pub payload_id: RawPayloadId,
    /// Header extensions.
    pub extensions: Extensions<'a>,
    /// Nodes that must acknowledge; empty for a plain flush.
    pub acking_nodes: NodeIds<'a>,
}

impl<'a> Flush<'a> {
    /// Flavor of the command.
    pub(crate) const FLAVOR: u8 = 1;

    /// Reads what follows the flavor.
    pub(crate) fn parse(
        sender: SenderFields,
        mut reader: FrameReader<'a>,
    ) -> Result<Self, WireError> {
        let fec_id = FecId::from_byte(reader.u8()?)?;
        let object_transport_id = ObjectTransportId(reader.u16()?);
        let payload_id = reader.payload_id(fec_id)?;
        let (extensions, list) = reader.finish()?;
        let acking_nodes = NodeIds::parse(list)?;
        Ok(Self { sender, object_transport_id, payload_id, extensions, acking_nodes })
    }
}

impl Flush<'_> {
    /// Appends the message. `nodes` is the acking list (`acking_nodes` is for parsed messages only),
    /// `app` the bytes of NRL's APP_ACK extension.
    ///
    /// # Panics
    /// When `app` is longer than [`AppAck::MAX_LEN`].
    pub fn encode(&self, app: Option<&[u8]>, nodes: &[NodeId], out: &mut Vec<u8>) {
        let mut writer = open(&self.sender, Self::FLAVOR, out);
        writer.u8(self.payload_id.fec_id.to_byte());
        writer.u16(self.object_transport_id.0);
        writer.payload_id(&self.payload_id);
        if let Some(content) = app {
            AppAck { content }.append(writer.extensions());
        }
        self.extensions.append_others(&[AppAck::HET], writer.extensions());
        NodeIds::append(nodes, writer.finish());
    }
}

impl fmt::Display for Flush<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sender, object_transport_id, payload_id, extensions, acking_nodes } = self;
        let fec_id = payload_id.fec_id;
        write!(f, "CMD(FLUSH) {sender} obj {object_transport_id} fec {fec_id} id {payload_id}")?;
        write!(f, "{extensions} acking {acking_nodes}")
    }
}

/// A list of node ids in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeIds<'a> {
    bytes: &'a [u8],
}

impl<'a> NodeIds<'a> {
    /// A list as it stands in a message: four bytes for each node.
    ///
    /// # Errors
    /// [`WireError::ListLength`] when a part of an id is left over.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        Ok(Self { bytes: whole_items("node list", bytes, 4)? })
    }
    pub(crate) fn append(nodes: &[NodeId], out: &mut Vec<u8>) {
        nodes.iter().for_each(|node| out.extend_from_slice(&node.0.to_be_bytes()));
    }
    /// The ids in order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + use<'a> {
        self.bytes.chunks_exact(4).map(|b| NodeId(u32::from_be_bytes([b[0], b[1], b[2], b[3]])))
    }
    /// Whether `node` is named.
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        self.iter().any(|n| n == node)
    }
    /// Whether nobody is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// The ids in brackets, separated by spaces.
impl fmt::Display for NodeIds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::show::write_list(f, self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, cmd::Cmd, golden};

    #[test]
    fn captured_datagrams_read_as_sent_and_encode_to_the_same_bytes() {
        golden::check(
            include_str!("../../testdata/flush.hex"),
            &[
                "CMD(FLUSH) 00000001/1234 seq 164 grtt 22.7ms k 2 gsize 10 obj 2 fec 5 id \
                 2:14 acking [00000002]",
                "CMD(FLUSH) 00000001/1234 seq 182 grtt 19.4ms k 2 gsize 10 obj 2 fec 5 id \
                 2:14 acking []",
                "CMD(FLUSH) 00000001/1234 seq 12 grtt 22.7ms k 2 gsize 10 obj 0 fec 5 id 0:9 \
                 app_ack(6 bytes) acking [00000002]",
                "CMD(FLUSH) 00000001/1234 seq 110 grtt 22.7ms k 4 gsize 10 obj 1 fec 129 id \
                 2(15):14 acking [00000002]",
                "CMD(FLUSH) 00000001/1234 seq 410 grtt 22.7ms k 2 gsize 10 obj 0 fec 2 id \
                 0x000100ba acking [00000002]",
            ],
        );
    }

    #[test]
    fn a_golden_watermark_names_its_point_and_who_must_answer() {
        let bytes = golden::hex("13050322 00000001 12348b42 01050000 0000180f 00000002");
        let Ok(Message::Cmd(Cmd::Flush(flush))) = Message::parse(&bytes) else { panic!("a FLUSH") };
        let id = flush.payload_id.unpack(crate::FieldSize::M8);
        assert_eq!((id.block.0, id.symbol.0), (24, 15));
        assert!(flush.acking_nodes.contains(NodeId(2)) && !flush.acking_nodes.contains(NodeId(1)));
        assert_eq!(golden::encoded(&Message::Cmd(Cmd::Flush(flush))), bytes);
    }

    #[test]
    fn a_part_of_a_node_id_is_refused() {
        let bytes = golden::hex("13050322 00000001 12348b42 01050000 0000180f 000000");
        let error = WireError::ListLength { what: "node list", bytes: 3, item: 4 };
        assert_eq!(Message::parse(&bytes), Err(error));
    }
}
