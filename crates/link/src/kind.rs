//! What a stream or a datagram of the QUIC connection is for: its first byte.

/// The stream that the two ends control their connection by.
pub(crate) const STREAM_CONTROL: u8 = 0;
/// A reliable message.
pub(crate) const STREAM_MESSAGE: u8 = 1;
/// The application's.
pub(crate) const STREAM_APPLICATION: u8 = 2;

/// A part of an unreliable message.
pub(crate) const DATAGRAM_MESSAGE: u8 = 1;
/// The application's.
pub(crate) const DATAGRAM_APPLICATION: u8 = 2;
