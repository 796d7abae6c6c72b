//! Why a node cannot take part.

use std::{fmt, io};

use fanfare_udp::OpenError;

use crate::group::CacheError;

/// Why a node cannot take part.
#[derive(Debug)]
pub enum JoinError {
    /// The network.
    Open(OpenError),
    /// A segment with its headers is longer than the link takes.
    SegmentTooLong {
        /// Bytes of the segment asked for.
        segment: u16,
        /// Largest IP packet of the interface.
        mtu: u32,
        /// Largest segment that fits.
        max: u32,
    },
    /// A segment is longer than receivers take.
    SegmentRefused {
        /// Bytes of the segment asked for.
        segment: u16,
        /// Largest that receivers take.
        max: u16,
    },
    /// The durable cache of a group's node.
    Cache(CacheError),
    /// The system gave no thread or descriptor.
    System(io::Error),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => error.fmt(f),
            Self::Cache(error) => error.fmt(f),
            Self::SegmentTooLong { segment, mtu, max } => write!(
                f,
                "segment ({segment}): with its headers longer than the link's packets of {mtu} \
                 bytes, and fragments multiply loss. Use at most {max}"
            ),
            Self::SegmentRefused { segment, max } => {
                write!(f, "segment ({segment}): receivers take at most {max} bytes. Use 1400")
            }
            Self::System(error) => write!(
                f,
                "system ({error}): gave no thread or descriptor. Check the limits of this user"
            ),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<OpenError> for JoinError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}
impl From<CacheError> for JoinError {
    fn from(error: CacheError) -> Self {
        Self::Cache(error)
    }
}
impl From<io::Error> for JoinError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
