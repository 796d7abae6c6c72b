//! NORM_REPORT: reserved for statistics; no content is defined (RFC 5740 4.4.1).

use crate::{NodeId, Sequence, ext::Extensions};
use alloc::vec::Vec;

/// A parsed NORM_REPORT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report<'a> {
    /// Message counter.
    pub sequence: Sequence,
    /// Who reports.
    pub source_id: NodeId,
    /// Header extensions.
    pub extensions: Extensions<'a>,
    /// Opaque content.
    pub payload: &'a [u8],
}

impl Report<'_> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let _ = out;
        todo!()
    }
}
