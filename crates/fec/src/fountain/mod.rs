//! RaptorQ (RFC 6330), a fountain: any symbols of a block, a few more than it has, give it back,
//! and there are millions of them.
//!
//! - `shape`: how an object is cut into blocks and symbols, always there;
//! - `codec`: symbols from a block and a block from symbols, by the crate `raptorq`; feature
//!   `fountain`.

#[cfg(feature = "fountain")]
mod codec;
mod shape;

#[cfg(feature = "fountain")]
pub use codec::{BlockDecoder, BlockEncoder};
pub use shape::{Shape, ShapeError};
