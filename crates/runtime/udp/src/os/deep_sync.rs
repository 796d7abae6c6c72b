//! Makes durable all that is in a directory, where no call does so for a whole file system.

use crate::os::{
    fd::{AsFd, OwnedFd},
    fs::{AtFlags, Dir, Mode, OFlags, kind_of},
    io::Errno,
};

/// Deepest directory that is looked into: each level keeps one open.
const DEPTH_MAX: usize = 256;

/// Makes files and names in a directory durable, file by file and in all directories within it. What is
/// in other places of its file system is not touched. In a directory with very many files it takes
/// long.
pub fn syncfs(directory: impl AsFd) -> Result<(), Errno> {
    within(&directory, DEPTH_MAX)
}

fn within(directory: &impl AsFd, depth: usize) -> Result<(), Errno> {
    for entry in Dir::read_from(directory.as_fd())? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let stat = crate::os::fs::statat(directory.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
        let kind = match stat {
            Ok(stat) => kind_of(&stat),
            // Gone meanwhile.
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(errno),
        };
        if !kind.is_dir() && !kind.is_file() {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let directories = if kind.is_dir() { OFlags::DIRECTORY } else { OFlags::empty() };
        let opened =
            crate::os::fs::openat(directory.as_fd(), name, flags | directories, Mode::empty());
        let opened: OwnedFd = match opened {
            Ok(opened) => opened,
            // Gone meanwhile, or not ours: we have not written it.
            Err(Errno::NOENT | Errno::ACCESS | Errno::PERM) => continue,
            Err(errno) => return Err(errno),
        };
        match kind.is_dir() {
            true if depth == 0 => return Err(Errno::NAMETOOLONG),
            true => within(&opened, depth - 1)?,
            false => crate::os::fs::fsync(opened.as_fd())?,
        }
    }
    crate::os::fs::fsync(directory.as_fd())
}
