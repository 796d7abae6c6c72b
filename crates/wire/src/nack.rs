//! NORM_NACK: a receiver asks for repair (RFC 5740 4.3.1).
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
    /// What is asked for.
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
