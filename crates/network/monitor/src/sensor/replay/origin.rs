//! What is told of a packet beside its bytes.

use crate::sensor::dissect::Frame;

/// Where a packet of a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The number that files give to the kind of its link.
    pub link: u32,
    /// The number of the interface in its file.
    pub interface: u32,
}

/// Takes each packet.
pub type Each<'e> = dyn FnMut(Origin, Frame<'_>) + 'e;
