//! Header extensions (RFC 5740 4.1): each known one in its own file, unknown ones skipped.

pub mod app_ack;
pub mod cc;
pub mod fti;
pub mod rate;

pub use app_ack::AppAck;
pub use cc::{CcFlags, ExtCc};
pub use fti::Fti;
pub use rate::ExtRate;

/// The extension area of a parsed message: lengths are checked, content is read on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extensions<'a> {
    bytes: &'a [u8],
}

/// One extension: its type and its bytes after the type (and length) field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Header extension type.
    pub het: u8,
    /// Content: everything after `het` and `hel`, or the three bytes of a one-word extension.
    pub content: &'a [u8],
}

impl<'a> Extensions<'a> {
    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = Extension<'a>> + use<'a> {
        let _ = self.bytes;
        core::iter::empty()
    }
    /// FEC object transmission information (EXT_FTI), in the form that `fec_id` gives it.
    #[must_use]
    pub fn fti(&self, fec_id: crate::FecId) -> Option<Fti> {
        let _ = fec_id;
        todo!()
    }
    /// Congestion control feedback (EXT_CC).
    #[must_use]
    pub fn cc(&self) -> Option<ExtCc> {
        todo!()
    }
    /// Sender rate (EXT_RATE).
    #[must_use]
    pub fn rate(&self) -> Option<ExtRate> {
        todo!()
    }
    /// Application bytes of a watermark or its acknowledgement (NRL's APP_ACK), zero-padded to a word.
    #[must_use]
    pub fn app_ack(&self) -> Option<AppAck<'a>> {
        todo!()
    }
}
