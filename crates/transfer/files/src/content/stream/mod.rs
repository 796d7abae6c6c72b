//! What has no known length, or is no file, in pieces.
//!
//! - `piece`: what is said of a piece; blocks of zeros are left out
//! - `source`: what is read, and a piece with its bytes

pub mod piece;
mod source;

pub use source::{Fed, StreamSource};
