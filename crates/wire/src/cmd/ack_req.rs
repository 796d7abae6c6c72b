//! NORM_CMD(ACK_REQ): asks named receivers for an acknowledgement (RFC 5740 4.2.3.6).

use crate::{NodeId, cmd::NodeIds, ext::Extensions, header::SenderFields};
use alloc::vec::Vec;

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

impl AckReq<'_> {
    /// Appends the message with `nodes` as the acking list.
    pub fn encode(&self, nodes: &[NodeId], out: &mut Vec<u8>) {
        let _ = (nodes, out);
        todo!()
    }
}
