//! Frames between group nodes, and the compact forms that they use.

pub mod bitmap;
pub mod compact_info;
pub mod frame;
pub mod nack;
pub mod slice;
pub mod varint;
