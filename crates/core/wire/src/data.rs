//! NORM_DATA: one symbol of an object (RFC 5740 4.2.1).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |           common header and sender fields (12 bytes)          |
//! +---------------+---------------+-------------------------------+
//! |     flags     |    fec_id     |      object_transport_id      |
//! +---------------+---------------+-------------------------------+
//! |          fec_payload_id (4 bytes; 8 for encoding id 129)      |
//! +---------------------------------------------------------------+
//! |            extensions (EXT_FTI), then the symbol              |
//! +---------------------------------------------------------------+
//! ```

use crate::{
    FecId, ObjectTransportId, WireError,
    ext::{Extensions, Fti},
    fec::RawPayloadId,
    frame::FrameReader,
    header::SenderFields,
};
use alloc::vec::Vec;
use core::fmt;

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

/// Names of the flags set, joined by `|`; `-` for none.
impl fmt::Display for ObjectFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 7] =
            ["REPAIR", "EXPLICIT", "INFO", "UNRELIABLE", "FILE", "STREAM", "SYN"];
        crate::show::write_flags(f, self.0, &NAMES)
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

impl<'a> Data<'a> {
    /// Message type.
    pub(crate) const TYPE: u8 = 2;

    pub(crate) fn parse(mut reader: FrameReader<'a>) -> Result<Self, WireError> {
        let sender = SenderFields::read(&mut reader)?;
        let flags = ObjectFlags(reader.u8()?);
        let fec_id = FecId::from_byte(reader.u8()?)?;
        let object_transport_id = ObjectTransportId(reader.u16()?);
        let payload_id = reader.payload_id(fec_id)?;
        let (extensions, payload) = reader.finish()?;
        extensions.check_fti(fec_id)?;
        Ok(Self { sender, flags, object_transport_id, payload_id, extensions, payload })
    }
}

impl Data<'_> {
    /// Appends header and EXT_FTI (when given) to `out`; the caller appends the payload, so that it
    /// can read it straight into place.
    ///
    /// # Panics
    /// When `fti` does not fit the form of its encoding id (see [`Fti::append`]).
    pub fn encode_header(&self, fti: Option<&Fti>, out: &mut Vec<u8>) {
        let fec_id = self.payload_id.fec_id;
        let mut writer = self.sender.open(Self::TYPE, out);
        writer.u8(self.flags.0);
        writer.u8(fec_id.to_byte());
        writer.u16(self.object_transport_id.0);
        writer.payload_id(&self.payload_id);
        if let Some(fti) = fti {
            fti.append(fec_id, writer.extensions());
        }
        self.extensions.append_others(&[Fti::HET], writer.extensions());
        writer.finish();
    }
}

impl fmt::Display for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sender, flags, object_transport_id, payload_id, extensions, payload } = self;
        let fec_id = payload_id.fec_id;
        write!(f, "DATA {sender} obj {object_transport_id} fec {fec_id} id {payload_id}")?;
        write!(f, " flags {flags}")?;
        match extensions.fti(fec_id) {
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
            include_str!("../testdata/data.hex"),
            &[
                "DATA 00000001/1234 seq 2 grtt 22.7ms k 2 gsize 10 obj 0 fec 5 id 0:0 flags \
                 INFO fti(size 1500 segment 32 k 16 p 4 m 8) len 32",
                "DATA 00000001/1234 seq 50 grtt 22.7ms k 2 gsize 10 obj 0 fec 5 id 2:14 flags \
                 INFO fti(size 1500 segment 32 k 16 p 4 m 8) len 28",
                "DATA 00000001/1234 seq 306 grtt 1.0ms k 2 gsize 10 obj 2 fec 5 id 2:15 flags \
                 INFO fti(size 1500 segment 32 k 16 p 4 m 8) len 32",
                "DATA 00000001/1234 seq 3 grtt 22.7ms k 4 gsize 10 obj 0 fec 129 id 0(16):0 \
                 flags INFO fti(size 1500 segment 32 k 16 p 4 m 8) len 32",
                "DATA 00000001/1234 seq 115 grtt 22.7ms k 4 gsize 10 obj 1 fec 129 id \
                 0(16):18 flags INFO fti(size 1500 segment 32 k 16 p 4 m 8) len 32",
                "DATA 00000001/1234 seq 2 grtt 22.7ms k 2 gsize 10 obj 0 fec 2 id 0x00000000 \
                 flags INFO fti(size 12000 segment 32 k 250 p 20 m 16) len 32",
                "DATA 00000001/1234 seq 438 grtt 19.4ms k 2 gsize 10 obj 0 fec 2 id \
                 0x000100bd flags INFO fti(size 12000 segment 32 k 250 p 20 m 16) len 32",
                "DATA 00000001/1234 seq 3 grtt 22.7ms k 4 gsize 10 obj 0 fec 2 id 0x00000000 \
                 flags INFO fti(size 1500 segment 32 k 16 p 4 m 8) len 32",
                "DATA 00000001/1234 seq 2 grtt 22.7ms k 2 gsize 10 obj 0 fec 5 id 0:0 flags \
                 INFO|STREAM fti(size 65536 segment 32 k 16 p 4 m 8) len 40",
            ],
        );
    }

    #[test]
    fn each_field_of_a_golden_header_is_found_and_written_again() {
        let bytes = golden::hex(
            "12080002 00000001 1234a642 04050000 00001807 4003 000000061a80 03e8 10 04 616263",
        );
        let Ok(Message::Data(data)) = Message::parse(&bytes) else { panic!("a DATA") };
        assert_eq!((data.sender.sequence.0, data.object_transport_id.0), (2, 0));
        let id = data.payload_id.unpack(crate::FieldSize::M8);
        assert_eq!((id.block.0, id.symbol.0), (24, 7));
        assert_eq!(data.payload, b"abc");
        let fti = data.extensions.fti(FecId::ReedSolomon8);
        let mut out = Vec::new();
        Data { extensions: Extensions::default(), ..data }.encode_header(fti.as_ref(), &mut out);
        assert_eq!(out, bytes[..32]);
    }

    #[test]
    fn a_header_too_short_for_its_payload_id_is_refused() {
        let bytes = golden::hex("12050002 00000001 1234a642 04810000 00000000 00100000");
        let error = WireError::HeaderLength { words: 5, base: 24, have: 24 };
        assert_eq!(Message::parse(&bytes), Err(error));
    }
}
