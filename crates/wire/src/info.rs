//! NORM_INFO: what an application says of an object ahead of it (RFC 5740 4.2.2).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |           common header and sender fields (12 bytes)          |
//! +---------------+---------------+-------------------------------+
//! |     flags     |    fec_id     |      object_transport_id      |
//! +---------------+---------------+-------------------------------+
//! |            extensions (EXT_FTI), then the payload             |
//! +---------------------------------------------------------------+
//! ```

use crate::ext::{Extensions, Fti};
use crate::{
    FecId, ObjectFlags, ObjectTransportId, WireError, frame::FrameReader, header::SenderFields,
};
use alloc::vec::Vec;
use core::fmt;

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

impl<'a> Info<'a> {
    /// Message type.
    pub(crate) const TYPE: u8 = 1;

    pub(crate) fn parse(mut reader: FrameReader<'a>) -> Result<Self, WireError> {
        let sender = SenderFields::read(&mut reader)?;
        let flags = ObjectFlags(reader.u8()?);
        let fec_id = FecId::from_byte(reader.u8()?)?;
        let object_transport_id = ObjectTransportId(reader.u16()?);
        let (extensions, payload) = reader.finish()?;
        extensions.check_fti(fec_id)?;
        Ok(Self { sender, flags, fec_id, object_transport_id, extensions, payload })
    }
}

impl Info<'_> {
    /// Appends the whole message, payload included, to `out`.
    ///
    /// # Panics
    /// When `fti` does not fit the form of its encoding id (see [`Fti::append`]).
    pub fn encode(&self, fti: Option<&Fti>, out: &mut Vec<u8>) {
        let mut writer = self.sender.open(Self::TYPE, out);
        writer.u8(self.flags.0);
        writer.u8(self.fec_id.to_byte());
        writer.u16(self.object_transport_id.0);
        if let Some(fti) = fti {
            fti.append(self.fec_id, writer.extensions());
        }
        self.extensions.append_others(&[Fti::HET], writer.extensions());
        writer.finish().extend_from_slice(self.payload);
    }
}

impl fmt::Display for Info<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sender, flags, fec_id, object_transport_id, extensions, payload } = self;
        write!(f, "INFO {sender} obj {object_transport_id} fec {fec_id} flags {flags}")?;
        match extensions.fti(*fec_id) {
            Some(fti) => write!(f, " {fti}")?,
            None => write!(f, "{extensions}")?,
        }
        write!(f, " len {}", payload.len())
    }
}
