//! NORM_NACK: a receiver requests repair (RFC 5740 4.3.1).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |          common header, server_id, instance_id (14 bytes)     |
//! |                               +-------------------------------+
//! |                               |           reserved            |
//! +-------------------------------+-------------------------------+
//! |                   grtt_response (8 bytes)                     |
//! +---------------------------------------------------------------+
//! |    extensions (EXT_CC), then repair requests ([`crate::repair`]) |
//! +---------------------------------------------------------------+
//! ```

pub use crate::repair::{
    RepairForm, RepairItem, RepairLevel, RepairRequest, RepairRequests, RequestWriter,
};

use crate::ext::{ExtCc, Extensions};
use crate::{WireError, frame::FrameReader, header::FeedbackFields};
use alloc::vec::Vec;
use core::fmt;

/// A parsed NORM_NACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nack<'a> {
    /// Who asks whom.
    pub feedback: FeedbackFields,
    /// Header extensions.
    pub extensions: Extensions<'a>,
    /// What is requested.
    pub requests: RepairRequests<'a>,
}

impl<'a> Nack<'a> {
    /// Message type.
    pub(crate) const TYPE: u8 = 4;

    pub(crate) fn parse(mut reader: FrameReader<'a>) -> Result<Self, WireError> {
        let (feedback, _reserved) = FeedbackFields::read(&mut reader)?;
        let (extensions, content) = reader.finish()?;
        let requests = RepairRequests::parse(content)?;
        Ok(Self { feedback, extensions, requests })
    }
}

impl Nack<'_> {
    /// Appends the message; `requests` comes from a [`RequestWriter`].
    pub fn encode(&self, cc: Option<&ExtCc>, requests: &[u8], out: &mut Vec<u8>) {
        let mut writer = self.feedback.open(Self::TYPE, [0, 0], out);
        if let Some(cc) = cc {
            cc.append(writer.extensions());
        }
        self.extensions.append_others(&[ExtCc::HET], writer.extensions());
        writer.finish().extend_from_slice(requests);
    }
}

impl fmt::Display for Nack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { feedback, extensions, requests } = self;
        write!(f, "NACK {feedback}{extensions}{requests}")
    }
}

#[cfg(test)]
mod tests {
    use crate::{Message, golden};

    #[test]
    fn captured_datagrams_read_as_sent_and_encode_to_the_same_bytes() {
        golden::check(
            include_str!("../testdata/nack.hex"),
            &[
                "NACK 00000002 > 00000001/1234 seq 0 grtt_response 1795244282.715287s cc(seq \
                 1 LIMIT rtt 266.3ms loss 0.0003% rate 1711B/s) SEGMENT[2:2:12]",
                "NACK 00000002 > 00000001/1234 seq 0 grtt_response 1795244231.678737s cc(seq \
                 2 - rtt 266.3ms loss 0.0003% rate 176B/s) SEGMENT[6:0:4..6:0:6]",
                "NACK 00000002 > 00000001/1234 seq 0 grtt_response 1795244282.178778s cc(seq \
                 0 - rtt 266.3ms loss 0.0008% rate 13kB/s) SEGMENT[0:2:16] \
                 SEGMENT[1:0:16..1:0:18]",
                "NACK 00000002 > 00000001/1234 seq 0 grtt_response 1795244231.091964s cc(seq \
                 2 - rtt 266.3ms loss 0.0001% rate 163B/s) INFO[4:0:0]",
                "NACK 00000002 > 00000001/1234 seq 0 grtt_response 1795244231.321478s cc(seq \
                 2 - rtt 266.3ms loss 0.0009% rate 293B/s) SEGMENT|INFO[4:0:2] SEGMENT[5:0:0]",
                "NACK 00000002 > 00000001/1234 seq 0 grtt_response 1795244293.310905s cc(seq \
                 0 - rtt 266.3ms loss 0.0015% rate 15kB/s) SEGMENT[0:1(16):17] \
                 SEGMENT[0:2(15):16]",
                "NACK 00000002 > 00000001/1234 seq 0 grtt_response 1795244299.260548s cc(seq \
                 0 - rtt 266.3ms loss 0.0003% rate 14kB/s) SEGMENT[0:0x00000099, \
                 0:0x0000009f, 0:0x000000a4]",
                "NACK 00000002 > 00000001/1234 seq 0 grtt_response 1795244329.342191s cc(seq \
                 0 - rtt 266.3ms loss 0.0000% rate 17kB/s) SEGMENT[0:3:16..0:3:18]",
            ],
        );
    }

    #[test]
    fn a_golden_request_for_a_range_is_read_and_written_again() {
        let bytes = golden::hex(
            "14090000 00000002 00000001 12340000 6b00e0d1 000cd029 0303075f 25390000 1a367507
             02010010 05000000 0000ba0f 05000000 0000ba12",
        );
        let Ok(Message::Nack(nack)) = Message::parse(&bytes) else { panic!("a NACK") };
        assert_eq!((nack.feedback.source_id.0, nack.feedback.server_id.0), (2, 1));
        assert_eq!(nack.feedback.grtt_response.map(|time| time.seconds), Some(0x6b00_e0d1));
        assert_eq!(nack.extensions.cc().map(|cc| cc.loss.0), Some(0x7507));
        assert_eq!(golden::encoded(&Message::Nack(nack)), bytes);
    }

    #[test]
    fn a_response_of_zeros_means_that_no_probe_was_heard() {
        let bytes = golden::hex("14060000 00000002 00000001 12340000 00000000 00000000");
        let Ok(Message::Nack(nack)) = Message::parse(&bytes) else { panic!("a NACK") };
        assert_eq!(nack.feedback.grtt_response, None);
        assert!(nack.requests.is_empty());
        assert_eq!(golden::encoded(&Message::Nack(nack)), bytes);
    }
}
