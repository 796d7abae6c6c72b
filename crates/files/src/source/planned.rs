//! What is to be sent: which files of what is named, or a stream.

use std::{
    fs::File,
    io,
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Gathering, Packing, SourceError, Sources, is_stdin};
use crate::{
    gatherer::Gatherer,
    selection::Selection,
    stream::feed::StreamSource,
    walk::{Found, Walk},
};

/// What is to be sent, and which of it.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// Files and directories; `-` is standard input.
    pub paths: &'a [PathBuf],
    /// In their place: paths below a directory, by which receivers call them.
    pub list: Option<(&'a Path, &'a [PathBuf])>,
    /// Of the directories, what is sent.
    pub selection: &'a Selection,
    /// What standard input is called.
    pub stdin_name: &'a str,
    /// Whether small files travel together.
    pub packing: Packing,
    /// Receivers are told what the directories hold.
    pub listed: bool,
}

impl Sources {
    /// What a plan names.
    ///
    /// # Errors
    /// A path cannot be read, or there is nothing to send.
    pub fn gather_planned(
        planned: &Planned<'_>,
        report: &mut dyn FnMut(Gathering<'_>),
    ) -> Result<Self, SourceError> {
        let gatherer = Gatherer::new(planned.packing, report).selecting(planned.selection.clone());
        let mut gatherer = if planned.listed { gatherer.listing() } else { gatherer };
        let Some((base, list)) = planned.list else {
            return Self::gather_by(gatherer, planned.paths, planned.stdin_name);
        };
        for path in list {
            let name = path.to_str().ok_or_else(|| SourceError::NotUtf8(path.clone()))?;
            gatherer.take_named(&base.join(path), name.to_owned())?;
        }
        gatherer.finish()
    }

    /// Names and sizes of what a plan names, found without reading it.
    ///
    /// # Errors
    /// As [`Self::gather_planned`].
    pub fn survey(
        planned: &Planned<'_>,
        report: &mut dyn FnMut(&str, u64),
    ) -> Result<(), SourceError> {
        let named = |path: &PathBuf| {
            let resolved = path.canonicalize().unwrap_or_else(|_| path.clone());
            let name = path.file_name().or(resolved.file_name()).unwrap_or_default();
            (path.clone(), name.to_string_lossy().into_owned())
        };
        let all: Vec<(PathBuf, String)> = match planned.list {
            Some((base, list)) => {
                list.iter().map(|path| (base.join(path), path.display().to_string())).collect()
            }
            None => planned.paths.iter().map(named).collect(),
        };
        for (path, name) in all {
            let unreadable = |error| SourceError::Unreadable(path.clone(), error);
            let meta = std::fs::metadata(&path).map_err(unreadable)?;
            if !meta.is_dir() {
                report(&name, meta.size());
                continue;
            }
            for found in Walk::new(&path, &name)? {
                let found = found?;
                if let Found::File(at, name) = &found
                    && found.is_taken(&path, planned.selection)
                {
                    report(name, std::fs::metadata(at).map_err(unreadable)?.size());
                }
            }
        }
        Ok(())
    }

    /// What `input` gives, read and sent as it comes, and called `name` at receivers. `path` is for
    /// messages.
    #[must_use]
    pub fn stream(input: File, path: &Path, name: &str) -> Self {
        let (path, name) = (path.to_owned(), name.to_owned());
        let stream = Some(StreamSource { path, name, input: Arc::new(input) });
        Self { stream, ..Self::default() }
    }

    /// What is at `path`, or standard input for `-`, read and sent as it comes: a file, a block device
    /// or a pipe. Standard input is called `stdin_name` at receivers.
    ///
    /// # Errors
    /// It cannot be opened, or is a directory.
    pub fn open_stream(path: &Path, stdin_name: &str) -> Result<Self, SourceError> {
        let unreadable = |error| SourceError::Unreadable(path.to_owned(), error);
        if is_stdin(path) {
            let input = io::stdin().as_fd().try_clone_to_owned().map_err(unreadable)?;
            return Ok(Self::stream(File::from(input), path, stdin_name));
        }
        let input = File::open(path).map_err(unreadable)?;
        if input.metadata().map_err(unreadable)?.is_dir() {
            return Err(SourceError::NotAStream(path.to_owned()));
        }
        let name = path.file_name().unwrap_or_default();
        let name = name.to_str().ok_or_else(|| SourceError::NotUtf8(path.to_owned()))?;
        Ok(Self::stream(input, path, name))
    }
}
