//! NORM_CMD(REPAIR_ADV): repair requests the sender has heard by unicast (RFC 5740 4.2.3.5).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |           common header and sender fields (12 bytes)          |
//! +---------------+---------------+-------------------------------+
//! |  flavor = 5   |     flags     |           reserved            |
//! +---------------+---------------+-------------------------------+
//! |  extensions (EXT_CC), then repair requests ([`crate::repair`])  |
//! +---------------------------------------------------------------+
//! ```

use super::Cmd;
use crate::ext::{ExtCc, Extensions};
use crate::{RepairRequests, WireError, frame::FrameReader, header::SenderFields};
use alloc::vec::Vec;
use core::fmt;

/// A parsed REPAIR_ADV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairAdv<'a> {
    /// Who sends.
    pub sender: SenderFields,
    /// NORM_REPAIR_ADV_FLAG_LIMIT (0x01): the content was cut to fit.
    pub flags: u8,
    /// Header extensions; EXT_CC is expected.
    pub extensions: Extensions<'a>,
    /// What others have already asked for.
    pub requests: RepairRequests<'a>,
}

impl<'a> RepairAdv<'a> {
    /// Flavor of the command.
    pub(crate) const FLAVOR: u8 = 5;

    /// Reads what follows the flavor.
    pub(crate) fn parse(
        sender: SenderFields,
        mut reader: FrameReader<'a>,
    ) -> Result<Self, WireError> {
        let flags = reader.u8()?;
        let _reserved = reader.u16()?;
        let (extensions, content) = reader.finish()?;
        let requests = RepairRequests::parse(content)?;
        Ok(Self { sender, flags, extensions, requests })
    }
}

impl RepairAdv<'_> {
    /// Appends the message; `requests` holds encoded repair requests
    /// (see [`crate::nack::RequestWriter`]).
    pub fn encode(&self, cc: Option<&ExtCc>, requests: &[u8], out: &mut Vec<u8>) {
        let mut writer = Cmd::open(&self.sender, Self::FLAVOR, out);
        writer.u8(self.flags);
        writer.u16(0);
        if let Some(cc) = cc {
            cc.append(writer.extensions());
        }
        self.extensions.append_others(&[ExtCc::HET], writer.extensions());
        writer.finish().extend_from_slice(requests);
    }
}

impl fmt::Display for RepairAdv<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sender, flags, extensions, requests } = self;
        write!(f, "CMD(REPAIR_ADV) {sender} flags 0x{flags:02x}{extensions}{requests}")
    }
}
