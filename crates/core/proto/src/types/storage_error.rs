//! Why a storage refuses.

/// Why bytes could not be stored or read. The object fails; the session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageError {
    /// The driver does not want this object (policy, size).
    Refused,
    /// No room.
    Full,
    /// The medium failed.
    Failed,
}
