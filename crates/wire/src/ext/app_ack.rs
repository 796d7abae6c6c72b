//! APP_ACK (extension 65, NRL's own): application bytes in a watermark and in its acknowledgement.

/// Application bytes; padded with zeros to a whole word, and that padded length is what the peer sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppAck<'a> {
    /// Content without type and length.
    pub content: &'a [u8],
}
