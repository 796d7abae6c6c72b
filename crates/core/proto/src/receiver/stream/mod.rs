//! Streams that are being received: where one begins, what is requested of it, how it is read.
//!
//! - [`window`]: which blocks are in view, and what of them is lost
//! - [`object`]: what is different of an object that is a stream: arrival, needs, watermarks
//! - [`reader`]: bytes in order, gaps between them, the end
//! - [`early`]: bytes before their turn

mod early;
mod object;
mod reader;
mod window;

pub(in crate::receiver) use object::StreamReached;
pub(in crate::receiver) use window::ReceiveStream;
