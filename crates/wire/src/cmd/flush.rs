//! NORM_CMD(FLUSH): end of transmission or watermark (RFC 5740 4.2.3.1).

use crate::{NodeId, ObjectTransportId, ext::Extensions, fec::RawPayloadId, header::SenderFields};
use alloc::vec::Vec;

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

impl Flush<'_> {
    /// Appends the message. `nodes` is the acking list (`acking_nodes` is for parsed messages only),
    /// `app` the bytes of NRL's APP_ACK extension.
    pub fn encode(&self, app: Option<&[u8]>, nodes: &[NodeId], out: &mut Vec<u8>) {
        let _ = (app, nodes, out);
        todo!()
    }
}

/// A list of node ids in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeIds<'a> {
    bytes: &'a [u8],
}

impl<'a> NodeIds<'a> {
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
