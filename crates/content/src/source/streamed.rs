//! What is sent as it is read.

use fanfare_os::{fd::AsFd, text::OsStrExt};
use std::{fs::File, io, path::Path, sync::Arc};

use fanfare_disk::name::text_of;

use super::{SourceError, Sources};
use crate::stream::StreamSource;

impl Sources {
    /// What `input` gives, read and sent as it comes, and called `name` at receivers. `path` is for
    /// messages.
    #[must_use]
    pub fn stream(input: File, path: &Path, name: &str) -> Self {
        let (path, name) = (path.to_owned(), name.to_owned());
        let mut sources = Self::default();
        sources.stream = Some(StreamSource { path, name, input: Arc::new(input) });
        sources
    }

    /// What is at `path`, or standard input for `-`, read and sent as it comes: a file, a block device
    /// or a pipe. Standard input is called `stdin_name` at receivers.
    ///
    /// # Errors
    /// It cannot be opened, or is a directory.
    pub fn open_stream(path: &Path, stdin_name: &str) -> Result<Self, SourceError> {
        let unreadable = |error| SourceError::Unreadable(path.to_owned(), error);
        if path == Path::new("-") {
            let input = io::stdin().as_fd().try_clone_to_owned().map_err(unreadable)?;
            return Ok(Self::stream(File::from(input), path, stdin_name));
        }
        let input = File::open(path).map_err(unreadable)?;
        if input.metadata().map_err(unreadable)?.is_dir() {
            return Err(SourceError::NotAStream(path.to_owned()));
        }
        let name = text_of(path.file_name().unwrap_or_default().as_bytes());
        Ok(Self::stream(input, path, &name))
    }

    /// Whether it is sent as it is read, and how much there is will be known in the end.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.stream.is_some()
    }
}
