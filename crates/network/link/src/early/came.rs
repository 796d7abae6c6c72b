//! What comes with the first packet, and how much that may be.

use fanfare_crypto::PublicKey;

use crate::hello::Hello;

/// Datagrams of one exchange and direction: with QUIC's own no more than a new connection may send at
/// once (RFC 6928, ten).
pub(crate) const DATAGRAMS_MAX: u8 = 8;
/// Bytes of a message in one of them: QUIC's least packet without what stands ahead.
pub const PART_SIZE: usize = 1_000;

/// What came with the first packet, or in answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The end that dials, in the first of its datagrams.
    First(Hello),
    /// The same, in a later one.
    Later(Hello),
    /// The end that is dialled.
    Dialled,
}

/// A datagram that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Came {
    /// Whose ticket it was.
    pub peer: PublicKey,
    /// Which end sent it.
    pub from: Origin,
    /// Of a message; it may be empty.
    pub part: Vec<u8>,
}
