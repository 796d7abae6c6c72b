//! How every command begins.

use crate::{frame::FrameWriter, header::SenderFields};
use alloc::vec::Vec;

/// Message type of a command.
pub(super) const TYPE: u8 = 3;

/// Begins a command: everything up to its flavor.
pub(super) fn open<'o>(sender: &SenderFields, flavor: u8, out: &'o mut Vec<u8>) -> FrameWriter<'o> {
    let mut writer = sender.open(TYPE, out);
    writer.u8(flavor);
    writer
}
