//! Frames between group nodes, and the compact forms that they use.

pub(crate) mod bitmap;
pub(crate) mod compact_info;
pub(crate) mod frame;
pub(crate) mod nack;
pub(crate) mod varint;
