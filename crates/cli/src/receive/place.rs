//! Where it goes, in words.

use fanfare_os::text::OsStrExt;
use std::{fmt, path::PathBuf};

use fanfare_files::{Placed, StreamTarget, name};

/// A directory, or what a stream is written to.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) dir: PathBuf,
    pub(super) target: Option<StreamTarget>,
}

impl Place {
    pub(super) fn new(dir: PathBuf, target: Option<&StreamTarget>) -> Self {
        Self { dir, target: target.cloned() }
    }

    /// Where a file is.
    pub(super) fn of(&self, placed: &Placed) -> String {
        match &self.target {
            Some(_) => self.to_string(),
            None => {
                let path = placed.name.below(&self.dir);
                name::escaped(&name::text_of(path.as_os_str().as_bytes()))
            }
        }
    }

    /// Whether standard output is for lines, and not for the stream itself.
    pub(super) fn tells(&self) -> bool {
        self.target.as_ref().is_none_or(|target| target.path.is_some())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Some(StreamTarget { path: Some(path), .. }) => path.display().fmt(f),
            Some(_) => f.write_str("standard output"),
            None => self.dir.display().fmt(f),
        }
    }
}
