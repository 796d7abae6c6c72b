//! The start of a transfer, acknowledgements and the end.
//!
//! - `release`: when data may flow; `ack`: watermarks; `flush`: the end of transmission; `eot`:
//!   good-bye

pub(in crate::sender) mod ack;
pub(in crate::sender) mod eot;
pub(in crate::sender) mod flush;
pub(in crate::sender) mod release;
