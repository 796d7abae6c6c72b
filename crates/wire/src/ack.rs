//! NORM_ACK: a receiver acknowledges (RFC 5740 4.3.2).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |          common header, server_id, instance_id (14 bytes)     |
//! |                               +---------------+---------------+
//! |                               |   ack_type    |    ack_id     |
//! +-------------------------------+---------------+---------------+
//! |                   grtt_response (8 bytes)                     |
//! +---------------------------------------------------------------+
//! |         extensions (EXT_CC, APP_ACK), then the content        |
//! +---------------------------------------------------------------+
//!
//! Content of ACK(FLUSH):
//! +---------------+---------------+-------------------------------+
//! |    fec_id     |   reserved    |      object_transport_id      |
//! +---------------+---------------+-------------------------------+
//! |          fec_payload_id (4 bytes; 8 for encoding id 129)      |
//! +---------------------------------------------------------------+
//! ```

use crate::ext::{AppAck, ExtCc, Extensions};
use crate::repair::RepairItem;
use crate::{ObjectTransportId, WireError};
use crate::{fec::RawPayloadId, frame::FrameReader, header::FeedbackFields};
use alloc::vec::Vec;
use core::fmt;

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

impl<'a> AckKind<'a> {
    /// From `ack_type` and the bytes behind the header; bytes that a type does not define are
    /// ignored.
    fn parse(ack_type: u8, content: &'a [u8]) -> Result<Self, WireError> {
        match ack_type {
            1 => Ok(Self::Cc),
            2 => {
                let (point, _) = RepairItem::split(content)?;
                let RepairItem { object_transport_id, payload_id } = point;
                Ok(Self::Flush(FlushAck { object_transport_id, payload_id }))
            }
            16.. => Ok(Self::Application(ack_type, content)),
            reserved => Err(WireError::Value { what: "ack_type", value: reserved.into() }),
        }
    }

    /// The number on the wire.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        match self {
            Self::Cc => 1,
            Self::Flush(_) => 2,
            Self::Application(ack_type, _) => ack_type,
        }
    }
}

/// The point an ACK(FLUSH) acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlushAck {
    /// Object of the watermark.
    pub object_transport_id: ObjectTransportId,
    /// Symbol of the watermark.
    pub payload_id: RawPayloadId,
}

impl<'a> Ack<'a> {
    /// Message type.
    pub(crate) const TYPE: u8 = 5;

    pub(crate) fn parse(mut reader: FrameReader<'a>) -> Result<Self, WireError> {
        let (feedback, [ack_type, ack_id]) = FeedbackFields::read(&mut reader)?;
        let (extensions, content) = reader.finish()?;
        let kind = AckKind::parse(ack_type, content)?;
        Ok(Self { feedback, kind, ack_id, extensions })
    }
}

impl Ack<'_> {
    /// Appends the message with EXT_CC and APP_ACK as given.
    ///
    /// # Panics
    /// When `app` is longer than [`AppAck::MAX_LEN`].
    pub fn encode(&self, cc: Option<&ExtCc>, app: Option<&[u8]>, out: &mut Vec<u8>) {
        let own = [self.kind.to_byte(), self.ack_id];
        let mut writer = self.feedback.open(Self::TYPE, own, out);
        if let Some(cc) = cc {
            cc.append(writer.extensions());
        }
        if let Some(content) = app {
            AppAck { content }.append(writer.extensions());
        }
        self.extensions.append_others(&[ExtCc::HET, AppAck::HET], writer.extensions());
        let out = writer.finish();
        match self.kind {
            AckKind::Cc => {}
            AckKind::Flush(FlushAck { object_transport_id, payload_id }) => {
                RepairItem { object_transport_id, payload_id }.append(out);
            }
            AckKind::Application(_, content) => out.extend_from_slice(content),
        }
    }
}

impl fmt::Display for Ack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { feedback, kind, ack_id, extensions } = self;
        match kind {
            AckKind::Cc => write!(f, "ACK(CC) {feedback}")?,
            AckKind::Flush(FlushAck { object_transport_id, payload_id }) => {
                write!(f, "ACK(FLUSH) {feedback} obj {object_transport_id} id {payload_id}")?;
            }
            AckKind::Application(ack_type, content) => {
                write!(f, "ACK({ack_type}) {feedback} len {}", content.len())?;
            }
        }
        if *ack_id != 0 {
            write!(f, " ack_id {ack_id}")?;
        }
        write!(f, "{extensions}")
    }
}
