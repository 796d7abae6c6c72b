//! The real directory's descriptors, for those who unpack thousands of files in it.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{Mode, OFlags, RenameFlags},
    io::Errno,
};

use crate::{
    directory::Directory,
    disk::{DirectoryId, open_beneath},
};

impl Directory {
    /// A directory of our own that is open already.
    pub(crate) fn from_own(fd: OwnedFd) -> Self {
        Self::over(Box::new(fd))
    }

    /// The directory's descriptor.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        match self.handle().id() {
            DirectoryId::Descriptor(fd) => fd,
            #[cfg(test)]
            DirectoryId::Number(_) => panic!("packs are not unpacked on a simulated disk"),
        }
    }

    /// Opens a file of our own for reading, and for writing at its end; creates it if need be.
    /// On a simulated disk there is none: what is remembered there is nothing to rely on.
    // In tests there is a second kind of disk.
    #[cfg_attr(not(test), allow(clippy::infallible_destructuring_match))]
    pub(crate) fn open_to_append(&self, name: &str) -> io::Result<File> {
        let fd = match self.handle().id() {
            DirectoryId::Descriptor(fd) => fd,
            #[cfg(test)]
            DirectoryId::Number(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND;
        Ok(File::from(open_beneath(fd, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Creates a file of our own as [`Self::create_own`] does.
    #[cfg(test)]
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        let file = self.create_own(name)?;
        file.handle().as_os().ok_or(io::ErrorKind::Unsupported)?.try_clone()
    }

    /// Opens the directories one below the other, creating those that are missing, `durable` or
    /// until the next sync only. `None`: there are none, it is this directory.
    pub(crate) fn descend(
        &self,
        directories: &[String],
        durable: bool,
    ) -> io::Result<Option<OwnedFd>> {
        let mut at: Option<OwnedFd> = None;
        for name in directories {
            let parent = at.as_ref().map_or(self.as_fd(), AsFd::as_fd);
            let mode = Mode::RWXU | Mode::RWXG | Mode::RWXO;
            match rustix::fs::mkdirat(parent, name.as_str(), mode) {
                Ok(()) if durable => rustix::fs::fsync(parent)?,
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            at = Some(open_beneath(parent, name, flags, Mode::empty())?);
        }
        Ok(at)
    }

    /// Opens directories one below the other, as long as they are there.
    pub(crate) fn find(&self, directories: &[String]) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let (first, rest) = directories.split_first().ok_or(Errno::INVAL)?;
        let first = open_beneath(self.as_fd(), first, flags, Mode::empty());
        rest.iter()
            .try_fold(first?, |at, name| open_beneath(at.as_fd(), name, flags, Mode::empty()))
    }
}

/// Renames a directory without replacing anything, not even an empty one. Fails where the file
/// system cannot say so.
pub(crate) fn rename_directory_new(
    from_directory: BorrowedFd<'_>,
    from: &str,
    to_directory: BorrowedFd<'_>,
    to: &str,
) -> Result<(), Errno> {
    rustix::fs::renameat_with(from_directory, from, to_directory, to, RenameFlags::NOREPLACE)
}
