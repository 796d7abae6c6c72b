//! NORM_CMD(APPLICATION): bytes of the application's own (RFC 5740 4.2.3.7).

use crate::{ext::Extensions, header::SenderFields};
use alloc::vec::Vec;

/// A parsed APPLICATION command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Application<'a> {
    /// Who sends.
    pub sender: SenderFields,
    /// Header extensions.
    pub extensions: Extensions<'a>,
    /// The application's bytes, at most one segment.
    pub content: &'a [u8],
}

impl Application<'_> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let _ = out;
        todo!()
    }
}
