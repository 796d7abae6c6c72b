//! Writes repair requests within a size limit.

use super::{RepairForm, RepairItem, RepairLevel};
use crate::{FecId, FecPayloadId, FieldSize, ObjectTransportId, fec::RawPayloadId};
use alloc::vec::Vec;

/// Bytes of a request's header.
const HEADER: usize = 4;

/// Writes repair requests: merges consecutive items of one form and level under one request
/// header, and refuses what would pass its bound.
#[derive(Debug)]
pub struct RequestWriter {
    fec_id: FecId,
    field: FieldSize,
    bound: usize,
    out: Vec<u8>,
    /// The request that is being written: where its header stands, and what it says.
    current: Option<(usize, RepairForm, RepairLevel)>,
}

impl RequestWriter {
    /// A writer of at most `bound` bytes.
    #[must_use]
    pub fn new(fec_id: FecId, field: FieldSize, bound: usize) -> Self {
        Self { fec_id, field, bound, out: Vec::new(), current: None }
    }
    /// Adds one item; false when it does not fit (nothing is added then).
    pub fn item(
        &mut self,
        level: RepairLevel,
        object: ObjectTransportId,
        id: FecPayloadId,
    ) -> bool {
        let item = self.pack(object, id);
        self.append(RepairForm::Items, level, &[item])
    }
    /// Adds a range, both ends included; false when it does not fit (nothing is added then).
    pub fn range(
        &mut self,
        level: RepairLevel,
        object: (ObjectTransportId, ObjectTransportId),
        first: FecPayloadId,
        last: FecPayloadId,
    ) -> bool {
        let ends = [self.pack(object.0, first), self.pack(object.1, last)];
        self.append(RepairForm::Ranges, level, &ends)
    }
    /// Whether nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }
    /// The encoded requests.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    fn pack(&self, object_transport_id: ObjectTransportId, id: FecPayloadId) -> RepairItem {
        let payload_id = RawPayloadId::pack(self.fec_id, self.field, id);
        RepairItem { object_transport_id, payload_id }
    }

    fn append(&mut self, form: RepairForm, level: RepairLevel, items: &[RepairItem]) -> bool {
        let added = items.len() * RepairItem::wire_len(self.fec_id);
        let open = self.current.filter(|&(start, f, l)| {
            // The length field has 16 bits: a longer list needs a second request.
            let length = self.out.len() + added - start - HEADER;
            (f, l) == (form, level) && length <= usize::from(u16::MAX)
        });
        let header = if open.is_some() { 0 } else { HEADER };
        if self.out.len() + header + added > self.bound {
            return false;
        }
        let (start, ..) = open.unwrap_or_else(|| self.open(form, level));
        items.iter().for_each(|item| item.append(&mut self.out));
        let length = (self.out.len() - start - HEADER) as u16;
        self.out[start + 2..start + HEADER].copy_from_slice(&length.to_be_bytes());
        true
    }

    fn open(&mut self, form: RepairForm, level: RepairLevel) -> (usize, RepairForm, RepairLevel) {
        let request = (self.out.len(), form, level);
        self.out.extend_from_slice(&[form.to_byte(), level.0, 0, 0]);
        self.current = Some(request);
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EncodingSymbolId, RepairRequests, SourceBlockNumber};

    const SEGMENT: RepairLevel = RepairLevel(RepairLevel::SEGMENT);
    const BLOCK: RepairLevel = RepairLevel(RepairLevel::BLOCK);
    const OBJECT: ObjectTransportId = ObjectTransportId(7);

    fn id(block: u32, symbol: u16) -> FecPayloadId {
        let (block, symbol) = (SourceBlockNumber(block), EncodingSymbolId(symbol));
        FecPayloadId { block, block_len: 0, symbol }
    }

    fn writer(bound: usize) -> RequestWriter {
        RequestWriter::new(FecId::ReedSolomon8, FieldSize::M8, bound)
    }

    #[test]
    fn consecutive_items_of_one_form_and_level_share_a_header() {
        let mut writer = writer(1000);
        assert!(writer.item(SEGMENT, OBJECT, id(1, 2)));
        assert!(writer.item(SEGMENT, OBJECT, id(1, 4)));
        assert!(writer.item(BLOCK, OBJECT, id(2, 0)));
        assert!(writer.range(BLOCK, (OBJECT, OBJECT), id(4, 0), id(9, 0)));
        assert!(writer.item(SEGMENT, OBJECT, id(10, 0)));
        let bytes = writer.finish();
        assert_eq!(bytes[..4], [1, 1, 0, 16]);
        let requests = RepairRequests::parse(&bytes).expect("well formed");
        let seen: Vec<_> =
            requests.iter().map(|r| (r.form.to_byte(), r.level.0, r.iter().count())).collect();
        assert_eq!(seen, [(1, 1, 2), (1, 2, 1), (2, 2, 2), (1, 1, 1)]);
    }

    #[test]
    fn what_would_pass_the_bound_is_refused_and_adds_nothing() {
        let mut tight = writer(20);
        assert!(tight.item(SEGMENT, OBJECT, id(1, 2)));
        assert!(!tight.item(BLOCK, OBJECT, id(2, 0)), "4 + 8 + 4 + 8 bytes pass 20");
        assert!(!tight.range(SEGMENT, (OBJECT, OBJECT), id(1, 3), id(1, 4)));
        assert!(tight.item(SEGMENT, OBJECT, id(1, 3)), "without a header it fits");
        assert_eq!(tight.finish().len(), 20);
        let mut none = writer(11);
        assert!(!none.item(SEGMENT, OBJECT, id(1, 2)));
        assert!(none.is_empty());
    }

    #[test]
    fn a_list_longer_than_its_length_field_goes_on_in_a_second_request() {
        let mut writer = writer(100_000);
        for _ in 0..10_000 {
            assert!(writer.item(SEGMENT, OBJECT, id(1, 2)));
        }
        let bytes = writer.finish();
        let requests = RepairRequests::parse(&bytes).expect("well formed");
        let counts: Vec<_> = requests.iter().map(|r| r.iter().count()).collect();
        assert_eq!(counts, [8191, 1809]);
    }
}
