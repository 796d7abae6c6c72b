//! Why files cannot be transferred.

use std::{fmt, io};

use fanfare_node::disk::directory::DirectoryError;
use fanfare_node::{JoinError, OpenError};

use crate::{layered::LayeredError, send::EnqueueFailed, stream::TargetError};

/// Why files cannot be transferred.
#[derive(Debug)]
pub enum TransferError {
    /// Neither sending nor receiving was asked for.
    NothingToDo,
    /// The network, or what it asks of this machine.
    Join(JoinError),
    /// The directory for received files.
    Directory(DirectoryError),
    /// Where a stream is to go.
    Target(TargetError),
    /// A file to be sent.
    Enqueue(EnqueueFailed),
    /// A file cannot be sent over layers.
    Layers(LayeredError),
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToDo => {
                write!(f, "node (nothing to do): neither sends nor receives. Ask for one")
            }
            Self::Join(error) => error.fmt(f),
            Self::Directory(error) => error.fmt(f),
            Self::Target(error) => error.fmt(f),
            Self::Enqueue(error) => error.fmt(f),
            Self::Layers(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TransferError {}

impl From<JoinError> for TransferError {
    fn from(error: JoinError) -> Self {
        Self::Join(error)
    }
}
impl From<OpenError> for TransferError {
    fn from(error: OpenError) -> Self {
        Self::Join(error.into())
    }
}
impl From<io::Error> for TransferError {
    fn from(error: io::Error) -> Self {
        Self::Join(error.into())
    }
}
impl From<DirectoryError> for TransferError {
    fn from(error: DirectoryError) -> Self {
        Self::Directory(error)
    }
}
impl From<TargetError> for TransferError {
    fn from(error: TargetError) -> Self {
        Self::Target(error)
    }
}
impl From<LayeredError> for TransferError {
    fn from(error: LayeredError) -> Self {
        Self::Layers(error)
    }
}
