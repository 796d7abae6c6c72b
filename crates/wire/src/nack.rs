//! NORM_NACK: a receiver asks for repair (RFC 5740 4.3.1).

use crate::{FecId, FecPayloadId, FieldSize, ObjectTransportId, ext::{ExtCc, Extensions}, fec::RawPayloadId, header::FeedbackFields};
use alloc::vec::Vec;

/// A parsed NORM_NACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nack<'a> {
    /// Who asks whom.
    pub feedback: FeedbackFields,
    /// Header extensions.
    pub extensions: Extensions<'a>,
    /// What is asked for.
    pub requests: RepairRequests<'a>,
}

impl Nack<'_> {
    /// Appends the message; `requests` comes from a [`RequestWriter`].
    pub fn encode(&self, cc: Option<&ExtCc>, requests: &[u8], out: &mut Vec<u8>) {
        let _ = (cc, requests, out);
        todo!()
    }
}

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
    /// Its items; stops at the first that cannot be read (unknown encoding id).
    pub fn iter(&self) -> impl Iterator<Item = RepairItem> + use<'a> {
        let _ = self.items;
        core::iter::empty()
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

/// The requests of a NACK or REPAIR_ADV: outer lengths are checked, content is read on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RepairRequests<'a> {
    bytes: &'a [u8],
}

impl<'a> RepairRequests<'a> {
    /// The requests in order.
    pub fn iter(&self) -> impl Iterator<Item = RepairRequest<'a>> + use<'a> {
        let _ = self.bytes;
        core::iter::empty()
    }
    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Writes repair requests: merges consecutive items of one form and level under one request
/// header, and refuses what would pass its bound.
#[derive(Debug)]
pub struct RequestWriter {
    fec_id: FecId,
    field: FieldSize,
    bound: usize,
    out: Vec<u8>,
}

impl RequestWriter {
    /// A writer of at most `bound` bytes.
    #[must_use]
    pub fn new(fec_id: FecId, field: FieldSize, bound: usize) -> Self {
        Self { fec_id, field, bound, out: Vec::new() }
    }
    /// Adds one item; false when it does not fit (nothing is added then).
    pub fn item(&mut self, level: RepairLevel, object: ObjectTransportId, id: FecPayloadId) -> bool {
        let _ = (level, object, id, self.fec_id, self.field, self.bound);
        todo!()
    }
    /// Adds a range, both ends included; false when it does not fit (nothing is added then).
    pub fn range(&mut self, level: RepairLevel, object: (ObjectTransportId, ObjectTransportId), first: FecPayloadId, last: FecPayloadId) -> bool {
        let _ = (level, object, first, last);
        todo!()
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
}

impl RepairItem {
    /// The payload id, given the field size that encoding id 2 needs.
    #[must_use]
    pub fn id(&self, field: FieldSize) -> FecPayloadId {
        self.payload_id.unpack(field)
    }
}

const _: fn(&RawPayloadId) -> &[u8] = RawPayloadId::as_bytes;
