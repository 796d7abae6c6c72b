//! What reading a connection gives, and how it may end.

/// The connection was reset, or the link is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Nothing more comes.
    End,
}
