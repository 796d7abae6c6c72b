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
/// It says nothing, and is read by nobody: its length is what it is for.
const DATAGRAM_PADDING: u8 = 5;

/// A datagram of so many bytes that says nothing.
pub(crate) fn padding(size: usize) -> Vec<u8> {
    let mut datagram = vec![0; size.max(1)];
    datagram[0] = DATAGRAM_PADDING;
    datagram
}
