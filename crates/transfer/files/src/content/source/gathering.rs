//! What is told while sources are gathered.

use std::path::Path;

/// What has been done while gathering, and what was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathering<'a> {
    /// A symbolic link that leads out of its directory, or nowhere, was left out.
    SkippedLink(&'a Path),
    /// Something that is no file was left out.
    SkippedOther(&'a Path),
    /// Bytes hashed so far, of all files known so far.
    Hashed(u64),
}
