//! Where the files of a pack wait until they are synced: a directory of our own, gone afterwards.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};

use fanfare_proto::ObjectKey;
use rustix::{
    fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, Timespec, Timestamps},
    io::Errno,
};

use crate::{
    directory::{Directory, open_beneath},
    name::PART_PREFIX,
};

/// Ends the name of such a directory.
const ENDING: &str = ".pack";
/// Deepest tree in it: no name is deeper.
const DEPTH_MAX: usize = 16;

/// A directory that nobody else may enter.
#[derive(Debug)]
pub(super) struct Staging {
    parent: Arc<Directory>,
    name: String,
    own: Directory,
}

impl Staging {
    /// Creates it for this object.
    pub(super) fn create(parent: &Arc<Directory>, key: ObjectKey) -> io::Result<Self> {
        let name = parent.own_name(key, ENDING);
        let left_over = match rustix::fs::mkdirat(parent.as_fd(), &name, Mode::RWXU) {
            Err(Errno::EXIST) => true,
            made => made.map(|()| false)?,
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = open_beneath(parent.as_fd(), &name, flags, Mode::empty())?;
        // Tells other receivers in this directory that it is in use.
        let _ = rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive);
        let staging = Self { parent: parent.clone(), name, own: Directory::from_own(fd) };
        if left_over {
            staging.empty();
        }
        Ok(staging)
    }

    /// The directory itself.
    pub(super) fn directory(&self) -> &Directory {
        &self.own
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }

    /// Creates a file with these permissions, less what the umask takes away, in a directory
    /// within this one.
    pub(super) fn file(parent: BorrowedFd<'_>, name: &str, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_bits_truncate((mode & 0o777) | 0o600);
        Ok(File::from(rustix::fs::openat(parent, name, flags, mode)?))
    }

    fn empty(&self) {
        empty(self.own.as_fd(), DEPTH_MAX);
    }
}

/// Removes what crashes have left, unless another receiver is at work in it.
pub(crate) fn remove_left_over(directory: &Directory) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let ours = |name: &String| name.starts_with(PART_PREFIX) && name.ends_with(ENDING);
    for name in directory.handle().list().unwrap_or_default().into_iter().filter(ours) {
        let Ok(fd) = open_beneath(directory.as_fd(), &name, flags, Mode::empty()) else { continue };
        if rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive).is_ok() {
            empty(fd.as_fd(), DEPTH_MAX);
            let _ = rustix::fs::unlinkat(directory.as_fd(), &name, AtFlags::REMOVEDIR);
        }
    }
}

/// Removes everything in a directory that only we write to.
fn empty(directory: BorrowedFd<'_>, depth: usize) {
    let Ok(entries) = Dir::read_from(directory) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        let unlinked = rustix::fs::unlinkat(directory, name, AtFlags::empty());
        if name == "." || name == ".." || unlinked.is_ok() || depth == 0 {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        if let Ok(inner) = open_beneath(directory, name, flags, Mode::empty()) {
            empty(inner.as_fd(), depth - 1);
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR);
        }
    }
}

impl Drop for Staging {
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
