//! Reads and writes one datagram: header fields, then extensions, then payload.
//!
//! Every message uses these two types, so the header length is checked in one place and set in one
//! place.

use crate::{
    FecId, NodeId, Sequence, WireError, ext::Extensions, fec::RawPayloadId, header::VERSION,
};
use alloc::vec::Vec;

/// Bytes of the common header.
const COMMON: usize = 8;

/// Takes fields from a datagram's header in order; never reads past `hdr_len`.
pub(crate) struct FrameReader<'a> {
    header: &'a [u8],
    payload: &'a [u8],
    position: usize,
}

impl<'a> FrameReader<'a> {
    /// Checks version and header length; gives the message type and a reader behind `hdr_len`.
    #[inline]
    pub(crate) fn open(datagram: &'a [u8]) -> Result<(u8, Self), WireError> {
        let have = datagram.len();
        let &[first, words, ..] = datagram else {
            return Err(WireError::Truncated { what: "common header", need: COMMON, have });
        };
        if have < COMMON {
            return Err(WireError::Truncated { what: "common header", need: COMMON, have });
        }
        if first >> 4 != VERSION {
            return Err(WireError::Version(first >> 4));
        }
        let length = usize::from(words) * 4;
        let (Some((header, payload)), COMMON..) = (datagram.split_at_checked(length), length)
        else {
            return Err(WireError::HeaderLength { words, base: COMMON, have });
        };
        Ok((first & 0x0f, Self { header, payload, position: 2 }))
    }

    /// The next `length` bytes of the header.
    #[inline]
    fn bytes(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let end = self.position + length;
        let Some(bytes) = self.header.get(self.position..end) else {
            return Err(self.too_short(length));
        };
        self.position = end;
        Ok(bytes)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        match self.header.get(self.position..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(array) => {
                self.position += N;
                Ok(*array)
            }
            None => Err(self.too_short(N)),
        }
    }

    #[cold]
    fn too_short(&self, length: usize) -> WireError {
        WireError::HeaderLength {
            words: self.header[1],
            base: self.position + length,
            have: self.header.len() + self.payload.len(),
        }
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.array::<1>()?[0])
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, WireError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A payload id in the form of `fec_id`.
    pub(crate) fn payload_id(&mut self, fec_id: FecId) -> Result<RawPayloadId, WireError> {
        RawPayloadId::from_bytes(fec_id, self.bytes(fec_id.payload_id_len())?)
    }

    /// What lies behind the base header: the extension area, checked, and the payload.
    #[inline]
    pub(crate) fn finish(self) -> Result<(Extensions<'a>, &'a [u8]), WireError> {
        Ok((Extensions::parse(&self.header[self.position..])?, self.payload))
    }
}

/// Appends a message's header to a buffer that may already hold other datagrams.
pub(crate) struct FrameWriter<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> FrameWriter<'o> {
    /// Writes the common header; its length follows with [`Self::finish`].
    pub(crate) fn open(kind: u8, sequence: Sequence, source: NodeId, out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        let mut writer = Self { out, start };
        writer.u8(VERSION << 4 | kind);
        writer.u8(0);
        writer.u16(sequence.0);
        writer.u32(source.0);
        writer
    }

    #[inline]
    pub(crate) fn u8(&mut self, value: u8) {
        self.out.push(value);
    }

    #[inline]
    pub(crate) fn u16(&mut self, value: u16) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    #[inline]
    pub(crate) fn u32(&mut self, value: u32) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    pub(crate) fn payload_id(&mut self, id: &RawPayloadId) {
        self.out.extend_from_slice(id.as_bytes());
    }

    /// Where extensions are appended.
    pub(crate) fn extensions(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Sets the header length; what is appended to the buffer from now on is payload.
    ///
    /// # Panics
    /// When the extensions do not fit into the 1,020 bytes that the length field can say.
    pub(crate) fn finish(self) -> &'o mut Vec<u8> {
        let length = self.out.len() - self.start;
        assert!(length.is_multiple_of(4) && length <= 1020, "header of {length} bytes");
        self.out[self.start + 1] = (length / 4) as u8;
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn refusal(datagram: &[u8]) -> WireError {
        FrameReader::open(datagram).err().expect("refused")
    }

    #[test]
    fn a_datagram_shorter_than_the_common_header_is_refused() {
        for have in 0..8 {
            let error = refusal(&[0x11, 2, 0, 0, 0, 0, 0, 0][..have]);
            assert_eq!(error, WireError::Truncated { what: "common header", need: 8, have });
        }
    }

    #[test]
    fn another_version_is_refused() {
        assert_eq!(refusal(&[0x21, 2, 0, 0, 0, 0, 0, 0]), WireError::Version(2));
    }

    #[test]
    fn a_header_length_below_the_base_or_beyond_the_datagram_is_refused() {
        for words in [0, 1, 3, 255] {
            let error = refusal(&[0x11, words, 0, 0, 0, 0, 0, 0]);
            assert_eq!(error, WireError::HeaderLength { words, base: 8, have: 8 });
        }
    }

    #[test]
    fn a_field_beyond_the_header_length_is_refused_even_when_the_datagram_has_bytes() {
        let datagram = [0x11, 2, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
        let (kind, mut reader) = FrameReader::open(&datagram).expect("opens");
        assert_eq!(kind, 1);
        reader.u16().expect("sequence");
        reader.u32().expect("source");
        assert_eq!(reader.u16(), Err(WireError::HeaderLength { words: 2, base: 10, have: 12 }));
    }

    #[test]
    fn writing_appends_behind_what_the_buffer_holds() {
        let mut out = vec![0xee];
        FrameWriter::open(6, Sequence(7), NodeId(9), &mut out).finish();
        assert_eq!(out, [0xee, 0x16, 2, 0, 7, 0, 0, 0, 9]);
    }
}
