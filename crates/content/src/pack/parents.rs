//! Directories that files of a pack are put into. Neighbours in a pack are mostly neighbours on
//! disk, so the last one is kept open.

use std::io;

use fanfare_disk::{DirectoryHandle, directory::Directory, in_writable};
use rustix::io::Errno;

/// A directory, if it could be opened.
type Opened = Result<Box<dyn DirectoryHandle>, Errno>;

/// Opens directories below another one.
#[derive(Debug)]
pub(crate) struct Parents<'a> {
    directory: &'a Directory,
    create: bool,
    last: Option<(Vec<String>, Opened)>,
}

impl<'a> Parents<'a> {
    /// Those that are there.
    pub(crate) fn existing(directory: &'a Directory) -> Self {
        Self { directory, create: false, last: None }
    }

    /// All; the missing ones are created, durable with the next sync.
    pub(crate) fn created(directory: &'a Directory) -> Self {
        Self { directory, create: true, last: None }
    }

    /// The directory of this path.
    pub(crate) fn get(&mut self, path: &[String]) -> io::Result<&dyn DirectoryHandle> {
        if path.is_empty() {
            return Ok(self.directory.handle());
        }
        let opened = match self.last.take() {
            // One that was missing may be there by now.
            Some((last, Ok(opened))) if last == path => Ok(opened),
            _ => self.open(path),
        };
        match &self.last.insert((path.to_vec(), opened)).1 {
            Ok(directory) => Ok(&**directory),
            Err(errno) => Err((*errno).into()),
        }
    }

    fn open(&self, path: &[String]) -> Opened {
        let (first, rest) = path.split_first().ok_or(Errno::INVAL)?;
        let first = self.step(self.directory.handle(), first);
        rest.iter().try_fold(first?, |at, name| self.step(&*at, name))
    }

    fn step(&self, at: &dyn DirectoryHandle, name: &str) -> Opened {
        if self.create {
            match in_writable(at, || at.make_directory(name)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        at.enter(name)
    }
}
