//! APP_ACK (extension 65, NRL's own): application bytes in a watermark and in its acknowledgement.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |   het = 65    |      hel      |   application bytes, zero     |
//! +---------------+---------------+                               |
//! |                    padded to a whole word                     |
//! +---------------------------------------------------------------+
//! ```

use super::write_variable;
use alloc::vec::Vec;

/// Application bytes; padded with zeros to a whole word, and that padded length is what the peer sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppAck<'a> {
    /// Content without type and length.
    pub content: &'a [u8],
}

impl AppAck<'_> {
    /// Header extension type.
    pub const HET: u8 = 65;
    /// Most bytes of content that fit into every message's header beside its other extensions: the
    /// longest is ACK with EXT_CC (36 bytes of the 1,020 that a header can have).
    pub const MAX_LEN: usize = 1020 - 36 - 2;

    /// Appends the extension, padded.
    ///
    /// # Panics
    /// When the content cannot fit into any header (more than 1,018 bytes).
    pub fn append(&self, out: &mut Vec<u8>) {
        write_variable(Self::HET, self.content, out);
    }
}
