//! Why a node could not be built.

use std::{fmt, io};

use fanfare_udp::OpenError;

use crate::{
    directory::DirectoryError, group::CacheError, layered::LayeredError, send::EnqueueFailed,
};

/// Why a node could not be built.
#[derive(Debug)]
pub enum BuildError {
    /// Neither sending nor receiving was asked for.
    NothingToDo,
    /// The network.
    Open(OpenError),
    /// The directory for received files.
    Directory(DirectoryError),
    /// A file to be sent.
    Enqueue(EnqueueFailed),
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
    /// A file cannot be sent over layers.
    Layers(LayeredError),
    /// The system gave no thread or descriptor.
    System(io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToDo => {
                write!(f, "node (nothing to do): neither sends nor receives. Ask for one")
            }
            Self::Open(error) => error.fmt(f),
            Self::Directory(error) => error.fmt(f),
            Self::Enqueue(error) => error.fmt(f),
            Self::Cache(error) => error.fmt(f),
            Self::Layers(error) => error.fmt(f),
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

impl std::error::Error for BuildError {}

impl From<OpenError> for BuildError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}
impl From<DirectoryError> for BuildError {
    fn from(error: DirectoryError) -> Self {
        Self::Directory(error)
    }
}
impl From<CacheError> for BuildError {
    fn from(error: CacheError) -> Self {
        Self::Cache(error)
    }
}
impl From<io::Error> for BuildError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
