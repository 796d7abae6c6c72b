//! NORM_CMD(REPAIR_ADV): repair requests the sender has heard by unicast (RFC 5740 4.2.3.5).

use crate::{RepairRequests, ext::{ExtCc, Extensions}, header::SenderFields};
use alloc::vec::Vec;

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

impl RepairAdv<'_> {
    /// Appends the message; `requests` holds encoded repair requests
    /// (see [`crate::nack::RequestWriter`]).
    pub fn encode(&self, cc: Option<&ExtCc>, requests: &[u8], out: &mut Vec<u8>) {
        let _ = (cc, requests, out);
        todo!()
    }
}
