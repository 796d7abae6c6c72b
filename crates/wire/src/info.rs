//! NORM_INFO: what an application says of an object ahead of it (RFC 5740 4.2.2).

use crate::{FecId, ObjectFlags, ObjectTransportId, ext::{Extensions, Fti}, header::SenderFields};
use alloc::vec::Vec;

/// A parsed NORM_INFO message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info<'a> {
    /// Who sends, and its advertised timing.
    pub sender: SenderFields,
    /// What kind of object.
    pub flags: ObjectFlags,
    /// Encoding of the object that this belongs to.
    pub fec_id: FecId,
    /// Which object.
    pub object_transport_id: ObjectTransportId,
    /// Header extensions.
    pub extensions: Extensions<'a>,
    /// The application's bytes, at most one segment.
    pub payload: &'a [u8],
}

impl Info<'_> {
    /// Appends the whole message, payload included, to `out`.
    pub fn encode(&self, fti: Option<&Fti>, out: &mut Vec<u8>) {
        let _ = (fti, out);
        todo!()
    }
}
