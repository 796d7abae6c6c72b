//! What has no known length, or is no file: standard input, pipes and block devices.
//!
//! A stream travels as objects of at most 256 KiB, its pieces, numbered from 0 on. Each says where
//! its bytes belong, and has a hash of its own. The last one tells the length and the hash of the
//! whole. Receivers write the pieces in order, and confirm each when it is written; a sender reads
//! no further ahead of its receivers than 256 pieces. So the memory of both ends is bounded, and a
//! slow pipe slows the sender.
//!
//! `content::stream` has the description of a piece.
//!
//! - `feed`: the sender's thread, which reads
//! - `target`: where a receiver puts it, with `path`: what stands there; `writer`: the receiver's thread, which writes;
//!   `progress`: one stream, piece by piece
//! - `nowhere`: the directory of a receiver that takes no files

pub(crate) mod feed;
pub(crate) mod nowhere;
mod path;
mod progress;
pub(crate) mod target;
pub(crate) mod writer;

pub use path::TargetKind;
pub use target::{StreamTarget, TargetError};
