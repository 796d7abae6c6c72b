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
/// One of a train that measures the narrowest link.
pub(crate) const DATAGRAM_TRAIN: u8 = 3;
/// What the trains of the receiver's have told.
pub(crate) const DATAGRAM_REPORT: u8 = 4;
