//! The command under way (NORM_CMD(APPLICATION)).

use fanfare_proto::Time;

/// The command under way.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) content: Vec<u8>,
    /// So often it is sent yet.
    pub(super) left: u32,
    pub(super) next: Time,
}
