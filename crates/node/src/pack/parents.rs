//! Directories that files of a pack are put into. Neighbours in a pack are mostly neighbours on
//! disk, so the last one is kept open.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::io::Errno;

use crate::directory::Directory;

/// Opens directories below another one.
#[derive(Debug)]
pub(super) struct Parents<'a> {
    directory: &'a Directory,
    create: bool,
    last: Option<(Vec<String>, Result<OwnedFd, Errno>)>,
}

impl<'a> Parents<'a> {
    /// Those that are there.
    pub(super) fn existing(directory: &'a Directory) -> Self {
        Self { directory, create: false, last: None }
    }

    /// All; the missing ones are created, durable with the next sync.
    pub(super) fn created(directory: &'a Directory) -> Self {
        Self { directory, create: true, last: None }
    }

    /// The directory of this path.
    pub(super) fn get(&mut self, path: &[String]) -> io::Result<BorrowedFd<'_>> {
        if path.is_empty() {
            return Ok(self.directory.as_fd());
        }
        let opened = match self.last.take() {
            Some((last, opened)) if last == path => opened,
            _ => self.open(path),
        };
        match &self.last.insert((path.to_vec(), opened)).1 {
            Ok(fd) => Ok(fd.as_fd()),
            Err(errno) => Err((*errno).into()),
        }
    }

    fn open(&self, path: &[String]) -> Result<OwnedFd, Errno> {
        if self.create {
            let opened = self.directory.descend(path, false);
            let opened = opened.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
            opened.ok_or(Errno::IO)
        } else {
            self.directory.find(path)
        }
    }
}
