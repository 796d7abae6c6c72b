//! Repair requests, the content of NACK and CMD(REPAIR_ADV) (RFC 5740 4.3.1.1).
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |     form      |     flags     |    length of items (bytes)    |  one per request
//! +---------------+---------------+-------------------------------+
//! |    fec_id     |   reserved    |      object_transport_id      |  items
//! +---------------+---------------+-------------------------------+
//! |          fec_payload_id (4 bytes; 8 for encoding id 129)      |
//! +---------------------------------------------------------------+
//! ```

mod writer;

pub use writer::RequestWriter;

use crate::{FecId, FecPayloadId, FieldSize, ObjectTransportId, WireError, fec::RawPayloadId};
use alloc::vec::Vec;
use core::fmt;

/// Bytes of a request before its items.
const REQUEST: usize = 4;

/// How the items of a request are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairForm {
    /// Each item names one thing.
    Items,
    /// Items come in pairs, first and last of a range.
    Ranges,
    /// Each item's symbol id is a count of erasures in its block.
    Erasures,
}

impl RepairForm {
    const fn from_byte(byte: u8) -> Result<Self, WireError> {
        match byte {
            1 => Ok(Self::Items),
            2 => Ok(Self::Ranges),
            3 => Ok(Self::Erasures),
            value => Err(WireError::Value { what: "repair form", value: value as u64 }),
        }
    }
    /// The number on the wire.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        match self {
            Self::Items => 1,
            Self::Ranges => 2,
            Self::Erasures => 3,
        }
    }
}

/// What a request is about. `info` may accompany any level, or stand alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RepairLevel(pub u8);

impl RepairLevel {
    /// Symbols.
    pub const SEGMENT: u8 = 0x01;
    /// Whole blocks.
    pub const BLOCK: u8 = 0x02;
    /// NORM_INFO.
    pub const INFO: u8 = 0x04;
    /// Whole objects.
    pub const OBJECT: u8 = 0x08;

    /// Whether all bits of `mask` are set.
    #[must_use]
    pub const fn has(self, mask: u8) -> bool {
        self.0 & mask == mask
    }
}

/// Names of the levels set, joined by `|`; `-` for none.
impl fmt::Display for RepairLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::show::write_flags(f, self.0, &["SEGMENT", "BLOCK", "INFO", "OBJECT"])
    }
}

/// One item of a repair request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairItem {
    /// Which object.
    pub object_transport_id: ObjectTransportId,
    /// Which symbol (its block, its count: as form and level say).
    pub payload_id: RawPayloadId,
}

impl RepairItem {
    /// The payload id, given the field size that encoding id 2 needs.
    #[must_use]
    pub fn id(&self, field: FieldSize) -> FecPayloadId {
        self.payload_id.unpack(field)
    }

    /// Bytes of an item in the form of `fec_id`.
    #[must_use]
    pub const fn wire_len(fec_id: FecId) -> usize {
        4 + fec_id.payload_id_len()
    }

    /// Splits the first item off. ACK(FLUSH) has the same form.
    pub(crate) fn split(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let truncated = |need| WireError::Truncated { what: "item", need, have: bytes.len() };
        let &[fec_id, _reserved, high, low, ref rest @ ..] = bytes else {
            return Err(truncated(4));
        };
        let fec_id = FecId::from_byte(fec_id)?;
        let Some((id, rest)) = rest.split_at_checked(fec_id.payload_id_len()) else {
            return Err(truncated(Self::wire_len(fec_id)));
        };
        let object_transport_id = ObjectTransportId(u16::from_be_bytes([high, low]));
        let payload_id = RawPayloadId::from_bytes(fec_id, id)?;
        Ok((Self { object_transport_id, payload_id }, rest))
    }

    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.payload_id.fec_id.to_byte(), 0]);
        out.extend_from_slice(&self.object_transport_id.0.to_be_bytes());
        out.extend_from_slice(self.payload_id.as_bytes());
    }
}

/// `object:block:symbol`.
impl fmt::Display for RepairItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.object_transport_id, self.payload_id)
    }
}

/// One repair request: a run of items of one form and level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairRequest<'a> {
    /// Form of its items.
    pub form: RepairForm,
    /// Level flags.
    pub level: RepairLevel,
    items: &'a [u8],
}

impl<'a> RepairRequest<'a> {
    /// Splits the first request off; the rest is always shorter by at least its header.
    fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), WireError> {
        let what = "repair request";
        let &[form, level, high, low, ref rest @ ..] = bytes else {
            return Err(WireError::Truncated { what, need: 4, have: bytes.len() });
        };
        let form = RepairForm::from_byte(form)?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let Some((items, rest)) = rest.split_at_checked(length) else {
            return Err(WireError::Truncated { what, need: 4 + length, have: bytes.len() });
        };
        Ok((Self { form, level: RepairLevel(level), items }, rest))
    }

    /// Checks that the list is a whole number of items, and of pairs for ranges. Behind an item of
    /// an unknown encoding id nothing can be known, and nothing is read.
    fn check(&self) -> Result<(), WireError> {
        let (mut rest, mut count) = (self.items, 0_usize);
        let wrong = |what| WireError::RepairLength { what, bytes: self.items.len() };
        while !rest.is_empty() {
            match RepairItem::split(rest) {
                Ok((_, behind)) => (rest, count) = (behind, count + 1),
                Err(WireError::UnknownFecId(_)) => return Ok(()),
                Err(_) => return Err(wrong("repair items")),
            }
        }
        if self.form == RepairForm::Ranges && !count.is_multiple_of(2) {
            return Err(wrong("repair ranges"));
        }
        Ok(())
    }

    /// Its items; stops at the first that cannot be read (unknown encoding id).
    pub fn iter(&self) -> impl Iterator<Item = RepairItem> + use<'a> {
        let mut rest = self.items;
        core::iter::from_fn(move || {
            let (item, behind) = RepairItem::split(rest).ok()?;
            rest = behind;
            Some(item)
        })
    }

    /// Its items as first and last: pairs for [`RepairForm::Ranges`], each item twice otherwise.
    pub fn ranges(&self) -> impl Iterator<Item = (RepairItem, RepairItem)> + use<'a> {
        let (mut items, paired) = (self.iter(), self.form == RepairForm::Ranges);
        core::iter::from_fn(move || {
            let first = items.next()?;
            Some((first, if paired { items.next()? } else { first }))
        })
    }
}

/// `LEVEL[item, first..last, ...]`, as a decoder shows it; erasure counts with a leading `#`.
impl fmt::Display for RepairRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.level)?;
        for (index, (first, last)) in self.ranges().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            match self.form {
                RepairForm::Items => write!(f, "{separator}{first}")?,
                RepairForm::Ranges => write!(f, "{separator}{first}..{last}")?,
                RepairForm::Erasures => write!(f, "{separator}#{first}")?,
            }
        }
        f.write_str("]")
    }
}

/// The requests of a NACK or REPAIR_ADV: outer lengths are checked, content is read on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RepairRequests<'a> {
    bytes: &'a [u8],
}

impl<'a> RepairRequests<'a> {
    /// Checks a list of requests.
    ///
    /// # Errors
    /// [`WireError::Value`] for an unknown form, [`WireError::Truncated`] for a request that passes
    /// the end, [`WireError::RepairLength`] for a list that is no whole number of items or pairs.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (request, behind) = RepairRequest::split(rest)?;
            request.check()?;
            rest = behind;
        }
        Ok(Self { bytes })
    }
    /// The requests in order.
    pub fn iter(&self) -> impl Iterator<Item = RepairRequest<'a>> + use<'a> {
        let mut rest = self.bytes;
        core::iter::from_fn(move || {
            let (request, behind) = RepairRequest::split(rest).ok()?;
            rest = behind;
            Some(request)
        })
    }
    /// Whether nothing is requested.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    /// The bytes on the wire.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
    /// The bytes of the first of them that fit into `room`: whole items, and whole pairs of ranges.
    #[must_use]
    pub fn within(&self, room: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for request in self.iter() {
            let RepairRequest { form, level, items } = request;
            let mut fit = Vec::new();
            for (first, last) in request.ranges() {
                let before = fit.len();
                first.append(&mut fit);
                if form == RepairForm::Ranges {
                    last.append(&mut fit);
                }
                if out.len() + REQUEST + fit.len() > room {
                    fit.truncate(before);
                    break;
                }
            }
            if !fit.is_empty() {
                out.extend_from_slice(&[form.to_byte(), level.0]);
                out.extend_from_slice(&(fit.len() as u16).to_be_bytes());
                out.extend_from_slice(&fit);
            }
            if fit.len() < items.len() {
                break;
            }
        }
        out
    }
}

/// Each request, led by a space.
impl fmt::Display for RepairRequests<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|request| write!(f, " {request}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec::Vec};

    /// Captured from libnorm: segments 15 to 18 of block 186, object 0.
    const RANGE: [u8; 20] =
        [2, 1, 0, 16, 5, 0, 0, 0, 0, 0, 0xba, 0x0f, 5, 0, 0, 0, 0, 0, 0xba, 0x12];

    #[test]
    fn a_captured_range_is_read_as_one_pair() {
        let requests = RepairRequests::parse(&RANGE).expect("well formed");
        let request = requests.iter().next().expect("one request");
        assert_eq!((request.form, request.level), (RepairForm::Ranges, RepairLevel(1)));
        let (first, last) = request.ranges().next().expect("one pair");
        assert_eq!(first.id(FieldSize::M8).symbol.0, 15);
        assert_eq!(last.id(FieldSize::M8).symbol.0, 18);
        assert_eq!(format!("{requests}"), " SEGMENT[0:186:15..0:186:18]");
    }

    #[test]
    fn what_has_no_room_is_left_out_by_whole_items_and_pairs() {
        let pairs = [&[2, 1, 0, 32][..], &RANGE[4..], &RANGE[4..]].concat();
        let item = [1, 4, 0, 8, 5, 0, 0, 9, 0, 0, 0, 0];
        let all = [&pairs[..], &item].concat();
        let requests = RepairRequests::parse(&all).expect("well formed");
        let within = |room| requests.within(room);
        assert_eq!((within(48), within(47)), (all.clone(), pairs.clone()));
        assert_eq!((within(35), within(20)), (RANGE.to_vec(), RANGE.to_vec()));
        assert_eq!((within(19), within(0)), (Vec::new(), Vec::new()));
    }

    #[test]
    fn every_truncation_but_the_empty_list_is_refused() {
        for length in 1..RANGE.len() {
            assert!(RepairRequests::parse(&RANGE[..length]).is_err(), "{length}");
        }
        assert!(RepairRequests::parse(&[]).expect("nothing asked for").is_empty());
    }

    #[test]
    fn half_a_pair_and_half_an_item_are_refused() {
        let mut half_pair = RANGE;
        half_pair[3] = 8;
        let error = RepairRequests::parse(&half_pair[..12]);
        assert_eq!(error, Err(WireError::RepairLength { what: "repair ranges", bytes: 8 }));
        let half_item = [1, 1, 0, 6, 5, 0, 0, 0, 0, 0];
        let error = RepairRequests::parse(&half_item);
        assert_eq!(error, Err(WireError::RepairLength { what: "repair items", bytes: 6 }));
    }

    #[test]
    fn an_unknown_form_is_refused() {
        let error = RepairRequests::parse(&[4, 1, 0, 0]);
        assert_eq!(error, Err(WireError::Value { what: "repair form", value: 4 }));
    }

    #[test]
    fn items_end_at_an_unknown_encoding_id_and_the_next_request_is_still_read() {
        let list = [1, 1, 0, 8, 77, 0, 0, 0, 0, 0, 0, 0, 1, 4, 0, 8, 5, 0, 0, 3, 0, 0, 0, 0];
        let requests = RepairRequests::parse(&list).expect("well formed");
        let counts: Vec<_> = requests.iter().map(|r| (r.level.0, r.iter().count())).collect();
        assert_eq!(counts, [(1, 0), (4, 1)]);
    }
}
