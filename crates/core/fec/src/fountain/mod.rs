//! RaptorQ (RFC 6330), a fountain code: a block can be decoded from any of its symbols, a few more
//! than it has source symbols, and there are millions of them.
//!
//! - `shape`: how an object is cut into blocks and symbols, always available
//! - `codec`: symbols from a block and a block from symbols, with the crate `raptorq`; feature
//!   `fountain`

#[cfg(feature = "fountain")]
mod codec;
mod shape;

#[cfg(feature = "fountain")]
pub use codec::{BlockDecoder, BlockEncoder};
pub use shape::{Shape, ShapeError};
