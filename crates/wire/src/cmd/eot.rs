//! NORM_CMD(EOT): the sender ends its participation (RFC 5740 4.2.3.2).

use crate::{ext::Extensions, header::SenderFields};
use alloc::vec::Vec;

/// A parsed EOT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eot<'a> {
    /// Who sends.
    pub sender: SenderFields,
    /// Header extensions.
    pub extensions: Extensions<'a>,
}

impl Eot<'_> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let _ = out;
        todo!()
    }
}
