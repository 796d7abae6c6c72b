//! What is in a directory.

use std::ffi::{CStr, CString};

use super::{
    call::path_of, errno::Errno, fd::AsFd, fs::failed, stat::FileType, text::OsStrExt as _,
};

/// The names in a directory.
#[derive(Debug)]
pub struct Dir(std::fs::ReadDir);

/// One of them.
#[derive(Debug)]
pub struct DirEntry {
    name: CString,
    kind: FileType,
}

impl Dir {
    /// Of an open directory.
    pub fn read_from(directory: impl AsFd) -> Result<Self, Errno> {
        let path = path_of(directory.as_fd()).map_err(failed)?;
        std::fs::read_dir(path).map(Self).map_err(failed)
    }
}

impl Iterator for Dir {
    type Item = Result<DirEntry, Errno>;

    fn next(&mut self) -> Option<Self::Item> {
        let of = |entry: std::fs::DirEntry| {
            let kind = entry.file_type().map_or(FileType::Unknown, FileType::of);
            let name = CString::new(entry.file_name().as_bytes()).map_err(|_| Errno::INVAL)?;
            Ok(DirEntry { name, kind })
        };
        Some(self.0.next()?.map_err(failed).and_then(of))
    }
}

impl DirEntry {
    /// What it is called.
    #[must_use]
    pub fn file_name(&self) -> &CStr {
        &self.name
    }

    /// What kind of thing it is.
    #[must_use]
    pub fn file_type(&self) -> FileType {
        self.kind
    }
}
