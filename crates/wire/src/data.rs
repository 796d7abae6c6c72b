//! NORM_DATA: one symbol of an object (RFC 5740 4.2.1).

use crate::{ObjectTransportId, ext::{Extensions, Fti}, fec::RawPayloadId, header::SenderFields};
use alloc::vec::Vec;

/// Flags of INFO and DATA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ObjectFlags(pub u8);

impl ObjectFlags {
    /// Sent as a repair (NRL never sets it).
    pub const REPAIR: u8 = 0x01;
    /// Explicit repair rather than parity.
    pub const EXPLICIT: u8 = 0x02;
    /// The object has NORM_INFO.
    pub const INFO: u8 = 0x04;
    /// Not to be repaired.
    pub const UNRELIABLE: u8 = 0x08;
    /// NORM_OBJECT_FILE.
    pub const FILE: u8 = 0x10;
    /// NORM_OBJECT_STREAM.
    pub const STREAM: u8 = 0x20;
    /// NRL's NormSocket connection set-up; not in the RFC.
    pub const SYN: u8 = 0x40;

    /// Whether all bits of `mask` are set.
    #[must_use]
    pub const fn has(self, mask: u8) -> bool {
        self.0 & mask == mask
    }
}

/// A parsed NORM_DATA message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// Who sends, and its advertised timing.
    pub sender: SenderFields,
    /// What kind of object.
    pub flags: ObjectFlags,
    /// Which object.
    pub object_transport_id: ObjectTransportId,
    /// Which symbol; also carries the FEC encoding id.
    pub payload_id: RawPayloadId,
    /// Header extensions.
    pub extensions: Extensions<'a>,
    /// The symbol; shorter than a segment at an object's end and in some parity (NRL).
    pub payload: &'a [u8],
}

impl Data<'_> {
    /// Appends header and EXT_FTI (when given) to `out`; the caller appends the payload, so that it
    /// can read it straight into place.
    pub fn encode_header(&self, fti: Option<&Fti>, out: &mut Vec<u8>) {
        let _ = (fti, out);
        todo!()
    }
}
