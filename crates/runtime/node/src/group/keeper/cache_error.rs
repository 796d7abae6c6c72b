//! Why there is no durable cache.

use std::{fmt, io, path::PathBuf};

/// Why there is no durable cache.
#[derive(Debug)]
pub enum CacheError {
    /// The directory cannot be used.
    Directory(PathBuf, io::Error),
    /// Another process has it.
    InUse(PathBuf),
    /// It fails.
    Failed(PathBuf, String),
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path, error) => write!(
                f,
                "cache directory ({}): cannot be used ({error}). Give one that this user can write to",
                path.display()
            ),
            Self::InUse(path) => write!(
                f,
                "cache directory ({}): another process uses it. Give each its own, or stop the other",
                path.display()
            ),
            Self::Failed(path, why) => write!(
                f,
                "cache directory ({}): {why}. Check the disk, or give another directory",
                path.display()
            ),
        }
    }
}

impl std::error::Error for CacheError {}
