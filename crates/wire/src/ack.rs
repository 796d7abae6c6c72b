//! NORM_ACK: a receiver acknowledges (RFC 5740 4.3.2).

use crate::{ObjectTransportId, ext::{ExtCc, Extensions}, fec::RawPayloadId, header::FeedbackFields};
use alloc::vec::Vec;

/// A parsed NORM_ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack<'a> {
    /// Who answers whom.
    pub feedback: FeedbackFields,
    /// What it acknowledges.
    pub kind: AckKind<'a>,
    /// Echo of ACK_REQ's `ack_id`; 0 otherwise.
    pub ack_id: u8,
    /// Header extensions.
    pub extensions: Extensions<'a>,
}

/// The kinds of acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckKind<'a> {
    /// 1: congestion control feedback.
    Cc,
    /// 2: the watermark was reached.
    Flush(FlushAck),
    /// 16 to 255: the application's own, with its content. (3 to 15 are reserved: refused.)
    Application(u8, &'a [u8]),
}

/// The point an ACK(FLUSH) acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlushAck {
    /// Object of the watermark.
    pub object_transport_id: ObjectTransportId,
    /// Symbol of the watermark.
    pub payload_id: RawPayloadId,
}

impl Ack<'_> {
    /// Appends the message with EXT_CC and APP_ACK as given.
    pub fn encode(&self, cc: Option<&ExtCc>, app: Option<&[u8]>, out: &mut Vec<u8>) {
        let _ = (cc, app, out);
        todo!()
    }
}
