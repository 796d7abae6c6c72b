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

use super::open;
use crate::{
    RepairRequests, WireError,
    ext::{ExtCc, Extensions},
    frame::FrameReader,
    header::SenderFields,
};
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
    /// What others have already requested.
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
        let mut writer = open(&self.sender, Self::FLAVOR, out);
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

#[cfg(test)]
mod tests {
    use crate::golden;

    #[test]
    fn captured_datagrams_read_as_sent_and_encode_to_the_same_bytes() {
        golden::check(
            include_str!("../../testdata/repair_adv.hex"),
            &[
                "CMD(REPAIR_ADV) 00000001/1234 seq 1 grtt 22.7ms k 4 gsize 10 flags 0x00 \
                 cc(seq 363 - rtt 208us loss 0.0001% rate 0B/s)",
                "CMD(REPAIR_ADV) 00000001/1234 seq 12 grtt 22.7ms k 4 gsize 10 flags 0x00 \
                 cc(seq 363 - rtt 131us loss 0.0000% rate 1331B/s) SEGMENT[0:0:1, 0:0:2]",
                "CMD(REPAIR_ADV) 00000001/1234 seq 44 grtt 19.4ms k 4 gsize 10 flags 0x00 \
                 cc(seq 363 - rtt 121us loss 0.0000% rate 660B/s) SEGMENT[1:0:0, 1:0:2, \
                 1:0:4]",
                "CMD(REPAIR_ADV) 00000001/1234 seq 106 grtt 22.7ms k 4 gsize 10 flags 0x00 \
                 cc(seq 363 - rtt 131us loss 0.0000% rate 15kB/s) SEGMENT[0:1(16):17] \
                 SEGMENT[0:2(15):16]",
                "CMD(REPAIR_ADV) 00000001/1234 seq 112 grtt 22.7ms k 4 gsize 10 flags 0x00 \
                 cc(seq 363 - rtt 131us loss 0.0000% rate 14kB/s) SEGMENT|INFO[1:0(16):17, \
                 1:0(16):18]",
                "CMD(REPAIR_ADV) 00000001/1234 seq 108 grtt 22.7ms k 4 gsize 10 flags 0x00 \
                 cc(seq 363 - rtt 112us loss 0.0000% rate 13kB/s) SEGMENT[0:0x00000111] \
                 SEGMENT[0:0x00000210]",
            ],
        );
    }
}
