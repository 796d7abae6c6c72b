//! Directories below another one, by path. Neighbours in a pack are mostly neighbours on disk, so
//! the last directory is kept open.

use std::io;

use fanfare_udp::os::io::Errno;

use crate::disk::{DirectoryHandle, directory::Directory, in_writable};

/// A directory, if it could be opened.
type Opened = Result<Box<dyn DirectoryHandle>, Errno>;

/// What to do about a directory that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// Look again each time: it may be there by now.
    LookAgain,
    /// It stays missing as long as nothing else is asked for.
    Remember,
    /// Make it.
    Create,
}

/// Opens directories below another one.
#[derive(Debug)]
pub struct Parents<'a> {
    directory: &'a Directory,
    missing: Missing,
    last: Option<(Vec<String>, Opened)>,
}

impl<'a> Parents<'a> {
    /// Directories that are there.
    pub fn existing(directory: &'a Directory) -> Self {
        Self { directory, missing: Missing::LookAgain, last: None }
    }

    /// Directories that were there when they were first asked for. Use it where one that appears
    /// a moment later makes no difference: thousands of neighbours then cost one look.
    pub fn noticed(directory: &'a Directory) -> Self {
        Self { directory, missing: Missing::Remember, last: None }
    }

    /// All directories. Missing ones are created, and are durable with the next sync.
    pub fn created(directory: &'a Directory) -> Self {
        Self { directory, missing: Missing::Create, last: None }
    }

    /// Whether names that differ in case alone are one there.
    pub fn folds_case(&self) -> bool {
        self.directory.folds_case()
    }

    /// The directory of this path.
    pub fn get(&mut self, path: &[String]) -> io::Result<&dyn DirectoryHandle> {
        if path.is_empty() {
            return Ok(self.directory.handle());
        }
        let is_known = self.last.as_ref().is_some_and(|(last, opened)| {
            last == path && (opened.is_ok() || self.missing == Missing::Remember)
        });
        if !is_known {
            self.last = Some((path.to_vec(), self.open(path)));
        }
        match &self.last {
            Some((_, Ok(directory))) => Ok(&**directory),
            Some((_, Err(errno))) => Err((*errno).into()),
            None => Err(Errno::NOENT.into()),
        }
    }

    fn open(&self, path: &[String]) -> Opened {
        let (first, rest) = path.split_first().ok_or(Errno::INVAL)?;
        let first = self.step(self.directory.handle(), first);
        rest.iter().try_fold(first?, |at, name| self.step(&*at, name))
    }

    fn step(&self, at: &dyn DirectoryHandle, name: &str) -> Opened {
        if self.missing == Missing::Create {
            match in_writable(at, || at.make_directory(name)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        at.enter(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::scratch::Scratch;

    #[test]
    fn a_directory_that_appears_is_found_unless_its_absence_was_noticed() {
        let scratch = Scratch::new();
        let directory = Directory::open(scratch.path(), false).unwrap();
        let path = ["a".to_owned(), "b".to_owned()];
        let mut existing = Parents::existing(&directory);
        let mut noticed = Parents::noticed(&directory);
        assert!(existing.get(&path).is_err());
        assert!(noticed.get(&path).is_err());
        assert!(Parents::created(&directory).get(&path).is_ok());
        assert!(existing.get(&path).is_ok());
        assert!(noticed.get(&path).is_err());
        assert!(noticed.get(&path[..1]).is_ok());
        assert!(noticed.get(&path).is_ok(), "something else was asked for meanwhile");
    }
}
