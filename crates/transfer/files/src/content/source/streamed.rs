//! What is sent as it is read.

use fanfare_udp::os::{
    device::{self, DeviceMount},
    fd::AsFd,
    file::FileTypeExt as _,
    text::OsStrExt,
};
use std::{
    fs::File,
    io::{self, Seek as _, SeekFrom},
    path::Path,
    sync::Arc,
};

use fanfare_node::disk::name::text_of;

use super::{SourceError, Sources};
use crate::content::stream::StreamSource;

impl Sources {
    /// What `input` gives, read and sent as it comes, and called `name` at receivers. `path` is for
    /// messages.
    #[must_use]
    pub fn stream(input: File, path: &Path, name: &str) -> Self {
        let (path, name) = (path.to_owned(), name.to_owned());
        let mut sources = Self::default();
        let size = size_of(&input);
        sources.stream = Some(StreamSource { path, name, input: Arc::new(input), size });
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

    /// Bytes of a stream, where they are known before it is read.
    #[must_use]
    pub fn stream_size(&self) -> Option<u64> {
        self.stream.as_ref().and_then(|stream| stream.size)
    }

    /// Directories at which the device that is read, or a part of it, is mounted.
    #[must_use]
    pub fn mounts(&self) -> Vec<DeviceMount> {
        self.stream.as_ref().map(|stream| device::mounts(&stream.input)).unwrap_or_default()
    }

    /// Whether it is sent as it is read, and how much there is will be known in the end.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.stream.is_some()
    }
}

/// Bytes that are left of a file or a device; nothing is known of a pipe.
fn size_of(mut input: &File) -> Option<u64> {
    let meta = input.metadata().ok()?;
    if !meta.is_file() && !meta.file_type().is_block_device() {
        return None;
    }
    let here = input.stream_position().ok()?;
    let end = input.seek(SeekFrom::End(0)).ok()?;
    input.seek(SeekFrom::Start(here)).ok()?;
    // Files of the kernel have a length of 0, and something in them.
    Some(end.saturating_sub(here)).filter(|size| *size > 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_size_of_a_file_is_what_is_left_of_it_and_that_of_a_pipe_is_not_known() {
        let mut file = fanfare_node::disk::unnamed_file().unwrap();
        file.write_all(&[1; 100]).unwrap();
        file.seek(SeekFrom::Start(30)).unwrap();
        assert_eq!(size_of(&file), Some(70));
        assert_eq!(file.stream_position().unwrap(), 30);
        assert_eq!(size_of(&File::open("/dev/null").unwrap()), None);
    }
}
