//! Where the files of a pack wait until they are synced: a directory of our own, gone afterwards.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use fanfare_proto::ObjectKey;
use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, Timespec, Timestamps},
    io::Errno,
};

use crate::{
    directory::{Directory, open_beneath},
    name::PART_PREFIX,
};

/// A directory that nobody else may enter.
#[derive(Debug)]
pub(super) struct Staging<'a> {
    parent: &'a Directory,
    name: String,
    fd: OwnedFd,
}

impl<'a> Staging<'a> {
    /// Creates it for this object. What an earlier run left behind is removed.
    pub(super) fn create(parent: &'a Directory, key: ObjectKey) -> io::Result<Self> {
        let name = format!("{PART_PREFIX}{}-{}-{}.pack", key.sender, key.instance, key.object);
        let left_over = match rustix::fs::mkdirat(parent.as_fd(), &name, Mode::RWXU) {
            Err(Errno::EXIST) => true,
            made => made.map(|()| false)?,
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = open_beneath(parent.as_fd(), &name, flags, Mode::empty())?;
        let staging = Self { parent, name, fd };
        if left_over {
            staging.empty();
        }
        Ok(staging)
    }

    /// Creates a file with these permissions, less what the umask takes away.
    pub(super) fn file(&self, name: &str, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_bits_truncate((mode & 0o777) | 0o600);
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, mode)?))
    }

    fn empty(&self) {
        let Ok(entries) = Dir::read_from(&self.fd) else { return };
        for entry in entries.flatten() {
            // The two dots cannot be unlinked.
            let _ = rustix::fs::unlinkat(&self.fd, entry.file_name(), AtFlags::empty());
        }
    }
}

impl AsFd for Staging<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        let remove =
            || rustix::fs::unlinkat(self.parent.as_fd(), self.name.as_str(), AtFlags::REMOVEDIR);
        if remove().is_err() {
            self.empty();
            let _ = remove();
        }
    }
}

/// Sets when the file was last changed. A time that this file system cannot hold is no reason to
/// lose the file.
pub(super) fn set_mtime(file: &File, seconds: i64) {
    let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
    let _ = rustix::fs::futimens(file, &Timestamps { last_access: time, last_modification: time });
}
