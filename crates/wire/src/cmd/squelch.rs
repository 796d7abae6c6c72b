//! NORM_CMD(SQUELCH): the sender's repair window, and holes in it (RFC 5740 4.2.3.3).

use crate::{ObjectTransportId, ext::Extensions, fec::RawPayloadId, header::SenderFields};
use alloc::vec::Vec;

/// A parsed SQUELCH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Squelch<'a> {
    /// Who sends.
    pub sender: SenderFields,
    /// Earliest object that can still be repaired.
    pub object_transport_id: ObjectTransportId,
    /// Earliest symbol in it.
    pub payload_id: RawPayloadId,
    /// Header extensions.
    pub extensions: Extensions<'a>,
    /// Objects beyond that point that cannot be repaired either.
    pub invalid_objects: ObjectIds<'a>,
}

impl Squelch<'_> {
    /// Appends the message with `invalid` as its list of objects.
    pub fn encode(&self, invalid: &[ObjectTransportId], out: &mut Vec<u8>) {
        let _ = (invalid, out);
        todo!()
    }
}

/// A list of object ids in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ObjectIds<'a> {
    bytes: &'a [u8],
}

impl<'a> ObjectIds<'a> {
    /// The ids in order.
    pub fn iter(&self) -> impl Iterator<Item = ObjectTransportId> + use<'a> {
        self.bytes.chunks_exact(2).map(|b| ObjectTransportId(u16::from_be_bytes([b[0], b[1]])))
    }
}
