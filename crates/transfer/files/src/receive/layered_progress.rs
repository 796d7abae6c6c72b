//! How far an object is that comes by layers.

use fanfare_proto::Bitrate;

/// How far an object is that comes by layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LayeredProgress {
    /// Bytes of it that are here.
    pub(crate) bytes: u64,
    /// Packets lost, as a share.
    pub(crate) loss: f64,
    /// Symbols beyond those that it has, as a share of them.
    pub(crate) overhead: f64,
    /// Layers that it comes by, and the sum of their rates.
    pub(crate) level: usize,
    pub(crate) rate: Bitrate,
}
