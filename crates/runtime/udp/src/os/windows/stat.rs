//! What a file is, in the shape of stat(2).

use std::{fs::Metadata, os::windows::fs::MetadataExt as _};

use winapi_util::file::information;

use super::{errno::Errno, fd::BorrowedFd};
pub use crate::os::stat::Stat;

/// From 1601, when this system's time begins, to 1970, in its units of 100 ns.
const UNIX_EPOCH: u64 = 116_444_736_000_000_000;
const UNITS_PER_SECOND: i64 = 10_000_000;
/// Bits of the kind in a mode.
const KIND: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;

/// Kinds of what has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// A file.
    RegularFile,
    /// A directory.
    Directory,
    /// A link.
    Symlink,
    /// It was not told.
    Unknown,
}

impl FileType {
    /// A file.
    #[must_use]
    pub fn is_file(self) -> bool {
        self == Self::RegularFile
    }
    /// A directory.
    #[must_use]
    pub fn is_dir(self) -> bool {
        self == Self::Directory
    }
    /// A link.
    #[must_use]
    pub fn is_symlink(self) -> bool {
        self == Self::Symlink
    }
    pub(super) fn of(kind: std::fs::FileType) -> Self {
        if kind.is_symlink() {
            Self::Symlink
        } else if kind.is_dir() {
            Self::Directory
        } else if kind.is_file() {
            Self::RegularFile
        } else {
            Self::Unknown
        }
    }
}

/// What kind of thing it is.
#[must_use]
pub fn kind_of(stat: &Stat) -> FileType {
    match stat.st_mode & KIND {
        DIRECTORY => FileType::Directory,
        REGULAR => FileType::RegularFile,
        SYMLINK => FileType::Symlink,
        _ => FileType::Unknown,
    }
}

/// Seconds and nanoseconds of a time of this system.
pub(super) fn since_1970(time: u64) -> (i64, i64) {
    let units = time.cast_signed() - UNIX_EPOCH.cast_signed();
    (units.div_euclid(UNITS_PER_SECOND), units.rem_euclid(UNITS_PER_SECOND) * 100)
}

/// Kind and permissions: who may read and write is not told by bits here, but for "read-only".
pub(super) fn mode_bits(meta: &Metadata) -> u32 {
    let kind = meta.file_type();
    if kind.is_symlink() {
        return SYMLINK | 0o777;
    }
    if kind.is_dir() {
        // "Read-only" has another meaning for folders.
        return DIRECTORY | 0o755;
    }
    REGULAR | if meta.permissions().readonly() { 0o444 } else { 0o644 }
}

/// What is open.
pub fn fstat(file: impl super::fd::AsFd) -> Result<Stat, Errno> {
    of_handle(file.as_fd()).map_err(|error| Errno::of(&error))
}

fn of_handle(handle: BorrowedFd<'_>) -> std::io::Result<Stat> {
    let file = std::fs::File::from(handle.try_clone_to_owned()?);
    let (meta, more) = (file.metadata()?, information(&file)?);
    let (mtime, mtime_nsec) = since_1970(meta.last_write_time());
    let (ctime, ctime_nsec) = since_1970(meta.last_write_time().max(meta.creation_time()));
    let size = i64::try_from(meta.len()).unwrap_or(i64::MAX);
    Ok(Stat {
        st_dev: more.volume_serial_number(),
        st_ino: more.file_index(),
        st_mode: mode_bits(&meta),
        st_nlink: more.number_of_links(),
        st_uid: 0,
        st_gid: 0,
        st_size: size,
        // Holes are not told apart.
        st_blocks: size.saturating_add(511) / 512,
        st_mtime: mtime,
        st_mtime_nsec: mtime_nsec.cast_unsigned(),
        st_ctime: ctime,
        st_ctime_nsec: ctime_nsec.cast_unsigned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_and_after_1970_have_their_seconds() {
        assert_eq!(since_1970(UNIX_EPOCH), (0, 0));
        assert_eq!(since_1970(UNIX_EPOCH + 15_000_001), (1, 500_000_100));
        assert_eq!(since_1970(UNIX_EPOCH - 1), (-1, 999_999_900));
    }
}
