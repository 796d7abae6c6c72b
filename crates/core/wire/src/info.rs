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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, golden};

    #[test]
    fn captured_datagrams_read_as_sent_and_encode_to_the_same_bytes() {
        golden::check(
            include_str!("../testdata/info.hex"),
            &[
                "INFO 00000001/1234 seq 1 grtt 22.7ms k 2 gsize 10 obj 0 fec 5 flags INFO \
                 fti(size 1500 segment 32 k 16 p 4 m 8) len 10",
                "INFO 00000001/1234 seq 2 grtt 22.7ms k 4 gsize 10 obj 0 fec 129 flags INFO \
                 fti(size 1500 segment 32 k 16 p 4 m 8) len 10",
                "INFO 00000001/1234 seq 1 grtt 22.7ms k 2 gsize 10 obj 0 fec 2 flags INFO \
                 fti(size 12000 segment 32 k 250 p 20 m 16) len 10",
                "INFO 00000001/1234 seq 2 grtt 22.7ms k 4 gsize 10 obj 0 fec 2 flags INFO \
                 fti(size 1500 segment 32 k 16 p 4 m 8) len 10",
                "INFO 00000001/1234 seq 1 grtt 22.7ms k 2 gsize 10 obj 0 fec 5 flags \
                 INFO|STREAM fti(size 65536 segment 32 k 16 p 4 m 8) len 4",
            ],
        );
    }

    /// Captured earlier: object size 400000, segments of 1000, 16 source and 4 parity symbols.
    const GOLDEN: &str = "11070001 00000001 1234a642 04050000 4003 000000061a80 03e8 10 04
        68656c6c6f2d696e666f";

    #[test]
    fn each_field_of_a_golden_datagram_is_found() {
        let bytes = golden::hex(GOLDEN);
        let Ok(Message::Info(info)) = Message::parse(&bytes) else { panic!("an INFO") };
        let SenderFields { sequence, source_id, instance_id, grtt, backoff, gsize } = info.sender;
        assert_eq!((sequence.0, source_id.0, instance_id.0), (1, 1, 0x1234));
        assert_eq!((grtt.0, backoff, gsize.to_receivers()), (0xa6, 4, 1000));
        assert!(info.flags.has(ObjectFlags::INFO) && !info.flags.has(ObjectFlags::STREAM));
        let fti = info.extensions.fti(info.fec_id).expect("EXT_FTI");
        assert_eq!((fti.object_size, fti.segment_size), (400_000, 1000));
        assert_eq!((fti.max_block_len, fti.num_parity), (16, 4));
        assert_eq!(info.payload, b"hello-info");
        assert_eq!(golden::encoded(&Message::Info(info)), bytes);
    }

    #[test]
    fn an_encoding_id_that_sessions_do_not_use_is_refused() {
        let mut bytes = golden::hex(GOLDEN);
        bytes[13] = 6;
        assert_eq!(Message::parse(&bytes), Err(WireError::UnknownFecId(6)));
    }

    #[test]
    fn an_fti_of_another_encoding_id_is_refused() {
        let mut bytes = golden::hex(GOLDEN);
        bytes[13] = 129;
        let error = WireError::ExtensionSize { het: 64, bytes: 12 };
        assert_eq!(Message::parse(&bytes), Err(error));
    }
}
