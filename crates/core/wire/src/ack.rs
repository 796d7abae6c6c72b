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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, golden};

    #[test]
    fn captured_datagrams_read_as_sent_and_encode_to_the_same_bytes() {
        golden::check(
            include_str!("../testdata/ack.hex"),
            &[
                "ACK(CC) 00000002 > 00000001/1234 seq 0 grtt_response 1795244281.710902s \
                 cc(seq 0 START rtt 266.3ms loss 0.0000% rate 0B/s)",
                "ACK(CC) 00000002 > 00000001/1234 seq 0 grtt_response 1795244284.195323s \
                 cc(seq 2 LIMIT rtt 266.3ms loss 0.2641% rate 321B/s)",
                "ACK(FLUSH) 00000002 > 00000001/1234 seq 0 grtt_response 1795244282.919912s \
                 obj 2 id 2:14 cc(seq 1 LIMIT rtt 266.3ms loss 0.1361% rate 1423B/s)",
                "ACK(FLUSH) 00000002 > 00000001/1234 seq 0 grtt_response 1795244288.025335s \
                 obj 0 id 0:9 cc(seq 0 START rtt 266.3ms loss 0.0000% rate 13kB/s) app_ack(6 \
                 bytes)",
                "ACK(FLUSH) 00000002 > 00000001/1234 seq 0 grtt_response 1795244293.712042s \
                 obj 1 id 2(16):14 cc(seq 0 LIMIT rtt 266.3ms loss 0.0936% rate 3386B/s)",
                "ACK(FLUSH) 00000002 > 00000001/1234 seq 0 grtt_response 1795244299.821090s \
                 obj 0 id 0x000100ba cc(seq 1 LIMIT rtt 266.3ms loss 0.1186% rate 3196B/s)",
            ],
        );
    }

    #[test]
    fn a_golden_feedback_is_read_and_written_again() {
        let bytes = golden::hex(
            "15090000 00000002 00000001 12340100 6b00e0ce 000c610b 03030002 08940000 60e30000",
        );
        let Ok(Message::Ack(ack)) = Message::parse(&bytes) else { panic!("an ACK") };
        assert_eq!((ack.kind, ack.ack_id), (AckKind::Cc, 0));
        let cc = ack.extensions.cc().expect("EXT_CC");
        assert_eq!((cc.cc_sequence, cc.flags.0, cc.rtt.0), (2, 0x08, 0x94));
        assert_eq!((cc.loss.0, cc.rate.0), (0, 0x60e3));
        assert_eq!(golden::encoded(&Message::Ack(ack)), bytes);
    }

    #[test]
    fn reserved_types_are_refused_and_those_of_applications_are_not() {
        for ack_type in 0..=255 {
            let mut bytes = golden::hex("15060000 00000002 00000001 12340000 00000000 00000000");
            bytes[14] = ack_type;
            match Message::parse(&bytes) {
                Ok(Message::Ack(ack)) => assert_eq!(ack.kind.to_byte(), ack_type),
                Err(WireError::Value { value, .. }) => assert!(matches!(value, 0 | 3..16)),
                Err(WireError::Truncated { .. }) => assert_eq!(ack_type, 2),
                other => panic!("{ack_type}: {other:?}"),
            }
        }
    }
}
