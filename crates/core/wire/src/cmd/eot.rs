//! NORM_CMD(EOT): the sender ends its participation (RFC 5740 4.2.3.2).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |           common header and sender fields (12 bytes)          |
//! +---------------+-----------------------------------------------+
//! |  flavor = 2   |                   reserved                    |
//! +---------------+-----------------------------------------------+
//! |                          extensions                           |
//! +---------------------------------------------------------------+
//! ```

use super::open;
use crate::{WireError, ext::Extensions, frame::FrameReader, header::SenderFields};
use alloc::vec::Vec;
use core::fmt;

/// A parsed EOT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eot<'a> {
    /// Who sends.
    pub sender: SenderFields,
    /// Header extensions.
    pub extensions: Extensions<'a>,
}

impl<'a> Eot<'a> {
    /// Flavor of the command.
    pub(crate) const FLAVOR: u8 = 2;

    /// Reads what follows the flavor. The RFC gives it no content; what there is, is ignored.
    pub(crate) fn parse(
        sender: SenderFields,
        mut reader: FrameReader<'a>,
    ) -> Result<Self, WireError> {
        let _reserved = (reader.u8()?, reader.u16()?);
        let (extensions, _content) = reader.finish()?;
        Ok(Self { sender, extensions })
    }
}

impl Eot<'_> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut writer = open(&self.sender, Self::FLAVOR, out);
        writer.u8(0);
        writer.u16(0);
        self.extensions.append_others(&[], writer.extensions());
        writer.finish();
    }
}

impl fmt::Display for Eot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CMD(EOT) {}{}", self.sender, self.extensions)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Message, cmd::Cmd, golden};
    use alloc::format;

    /// Laid out by hand from the RFC: NRL's code does not send this.
    #[test]
    fn a_message_after_the_rfc_is_read_and_written_again() {
        let bytes = golden::hex("13040007 00000001 12349542 02000000");
        let message = Message::parse(&bytes).expect("well formed");
        assert_eq!(
            format!("{message}"),
            "CMD(EOT) 00000001/1234 seq 7 grtt 287.6ms k 4 gsize 1000"
        );
        assert_eq!(golden::encoded(&message), bytes);
    }

    #[test]
    fn bytes_behind_the_header_are_ignored() {
        let bytes = golden::hex("13040007 00000001 12349542 02000000 ffff");
        assert!(matches!(Message::parse(&bytes), Ok(Message::Cmd(Cmd::Eot(_)))));
    }
}
