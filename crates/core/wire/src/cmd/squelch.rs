//! NORM_CMD(SQUELCH): the sender's repair window, and holes in it (RFC 5740 4.2.3.3).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |           common header and sender fields (12 bytes)          |
//! +---------------+---------------+-------------------------------+
//! |  flavor = 3   |    fec_id     |      object_transport_id      |
//! +---------------+---------------+-------------------------------+
//! |          fec_payload_id (4 bytes; 8 for encoding id 129)      |
//! +---------------------------------------------------------------+
//! |       extensions, then invalid objects, 2 bytes each          |
//! +---------------------------------------------------------------+
//! ```

use super::{open, whole_items};
use crate::{
    FecId, ObjectTransportId, WireError, ext::Extensions, fec::RawPayloadId, frame::FrameReader,
    header::SenderFields,
};
use alloc::vec::Vec;
use core::fmt;

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

impl<'a> Squelch<'a> {
    /// Flavor of the command.
    pub(crate) const FLAVOR: u8 = 3;

    /// Reads what follows the flavor.
    pub(crate) fn parse(
        sender: SenderFields,
        mut reader: FrameReader<'a>,
    ) -> Result<Self, WireError> {
        let fec_id = FecId::from_byte(reader.u8()?)?;
        let object_transport_id = ObjectTransportId(reader.u16()?);
        let payload_id = reader.payload_id(fec_id)?;
        let (extensions, list) = reader.finish()?;
        let invalid_objects = ObjectIds::parse(list)?;
        Ok(Self { sender, object_transport_id, payload_id, extensions, invalid_objects })
    }
}

impl Squelch<'_> {
    /// Appends the message with `invalid` as its list of objects.
    pub fn encode(&self, invalid: &[ObjectTransportId], out: &mut Vec<u8>) {
        let mut writer = open(&self.sender, Self::FLAVOR, out);
        writer.u8(self.payload_id.fec_id.to_byte());
        writer.u16(self.object_transport_id.0);
        writer.payload_id(&self.payload_id);
        self.extensions.append_others(&[], writer.extensions());
        let out = writer.finish();
        invalid.iter().for_each(|object| out.extend_from_slice(&object.0.to_be_bytes()));
    }
}

impl fmt::Display for Squelch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sender, object_transport_id, payload_id, extensions, invalid_objects } = self;
        let fec_id = payload_id.fec_id;
        write!(f, "CMD(SQUELCH) {sender} obj {object_transport_id} fec {fec_id} id {payload_id}")?;
        write!(f, "{extensions} invalid ")?;
        crate::show::write_list(f, invalid_objects.iter())
    }
}

/// A list of object ids in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ObjectIds<'a> {
    bytes: &'a [u8],
}

impl<'a> ObjectIds<'a> {
    /// A list as it stands in a message: two bytes for each object.
    ///
    /// # Errors
    /// [`WireError::ListLength`] when half an id is left over.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        Ok(Self { bytes: whole_items("object list", bytes, 2)? })
    }
    /// The ids in order.
    pub fn iter(&self) -> impl Iterator<Item = ObjectTransportId> + use<'a> {
        self.bytes.chunks_exact(2).map(|b| ObjectTransportId(u16::from_be_bytes([b[0], b[1]])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, cmd::Cmd, golden};

    #[test]
    fn captured_datagrams_read_as_sent_and_encode_to_the_same_bytes() {
        golden::check(
            include_str!("../../testdata/squelch.hex"),
            &[
                "CMD(SQUELCH) 00000001/1234 seq 113 grtt 18.0ms k 4 gsize 10 obj 3 fec 5 id \
                 0:0 invalid []",
                "CMD(SQUELCH) 00000001/1234 seq 184 grtt 18.0ms k 4 gsize 10 obj 5 fec 5 id \
                 0:0 invalid []",
            ],
        );
    }

    #[test]
    fn invalid_objects_are_listed_after_the_header() {
        let bytes = golden::hex("13050071 00000001 12347140 03050003 00000000 0005 ffff");
        let Ok(Message::Cmd(Cmd::Squelch(squelch))) = Message::parse(&bytes) else {
            panic!("a SQUELCH")
        };
        let invalid: Vec<_> = squelch.invalid_objects.iter().map(|object| object.0).collect();
        assert_eq!(invalid, [5, 0xffff]);
        assert_eq!(golden::encoded(&Message::Cmd(Cmd::Squelch(squelch))), bytes);
    }

    #[test]
    fn half_an_object_id_is_refused() {
        let bytes = golden::hex("13050071 00000001 12347140 03050003 00000000 000500");
        let error = WireError::ListLength { what: "object list", bytes: 3, item: 2 };
        assert_eq!(Message::parse(&bytes), Err(error));
    }
}
