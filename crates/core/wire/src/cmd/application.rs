//! NORM_CMD(APPLICATION): bytes of the application's own (RFC 5740 4.2.3.7).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |           common header and sender fields (12 bytes)          |
//! +---------------+-----------------------------------------------+
//! |  flavor = 7   |                   reserved                    |
//! +---------------+-----------------------------------------------+
//! |                 extensions, then the content                  |
//! +---------------------------------------------------------------+
//! ```

use super::open;
use crate::{WireError, ext::Extensions, frame::FrameReader, header::SenderFields};
use alloc::vec::Vec;
use core::fmt;

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

impl<'a> Application<'a> {
    /// Flavor of the command.
    pub(crate) const FLAVOR: u8 = 7;

    /// Reads what follows the flavor.
    pub(crate) fn parse(
        sender: SenderFields,
        mut reader: FrameReader<'a>,
    ) -> Result<Self, WireError> {
        let _reserved = (reader.u8()?, reader.u16()?);
        let (extensions, content) = reader.finish()?;
        Ok(Self { sender, extensions, content })
    }
}

impl Application<'_> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut writer = open(&self.sender, Self::FLAVOR, out);
        writer.u8(0);
        writer.u16(0);
        self.extensions.append_others(&[], writer.extensions());
        writer.finish().extend_from_slice(self.content);
    }
}

impl fmt::Display for Application<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sender, extensions, content } = self;
        write!(f, "CMD(APPLICATION) {sender}{extensions} len {}", content.len())
    }
}

#[cfg(test)]
mod tests {
    use crate::golden;

    #[test]
    fn captured_datagrams_read_as_sent_and_encode_to_the_same_bytes() {
        golden::check(
            include_str!("../../testdata/application.hex"),
            &[
                "CMD(APPLICATION) 00000001/1234 seq 81 grtt 22.7ms k 2 gsize 10 len 11",
                "CMD(APPLICATION) 00000001/1234 seq 650 grtt 14.3ms k 4 gsize 10 len 11",
            ],
        );
    }
}
