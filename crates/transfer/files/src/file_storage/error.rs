//! What errors of a disk are to the protocol.

use std::io;

use fanfare_proto::StorageError;

/// What a disk's complaint means to the protocol.
pub(super) fn storage_error(error: &io::Error) -> StorageError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StorageError::Full,
        _ => StorageError::Failed,
    }
}
