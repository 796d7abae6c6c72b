//! macOS: what it calls otherwise, and what it cannot.

use std::{fs::File, path::Path};

use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
    path::Arg,
};

/// Longest path that is given to the system in one call: sys/syslimits.h, `PATH_MAX`, is 1024.
pub const PATH_MAX: usize = 1000;
/// Opens something only to name it.
pub const PATH: OFlags = OFlags::RDONLY;
/// The same of a link itself: fcntl.h, `O_SYMLINK`.
pub const PATH_OF_LINK: OFlags = OFlags::from_bits_retain(0x20_0000);
/// What new files do not get, where nobody has changed it.
const USUAL_UMASK: u32 = 0o022;

/// What a file is, in the widths of Linux.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "stat(2) says it")]
pub struct Stat {
    pub st_dev: u64,
    pub st_ino: u64,
    pub st_mode: u32,
    pub st_nlink: u64,
    pub st_uid: u32,
    pub st_gid: u32,
    pub st_size: i64,
    pub st_blocks: i64,
    pub st_mtime: i64,
    pub st_mtime_nsec: u64,
    pub st_ctime: i64,
    pub st_ctime_nsec: u64,
}

impl Stat {
    fn of(stat: &rustix::fs::Stat) -> Self {
        Self {
            st_dev: u64::from(stat.st_dev.cast_unsigned()),
            st_ino: stat.st_ino,
            st_mode: stat.st_mode.into(),
            st_nlink: stat.st_nlink.into(),
            st_uid: stat.st_uid,
            st_gid: stat.st_gid,
            st_size: stat.st_size,
            st_blocks: stat.st_blocks,
            st_mtime: stat.st_mtime,
            st_mtime_nsec: stat.st_mtime_nsec.cast_unsigned(),
            st_ctime: stat.st_ctime,
            st_ctime_nsec: stat.st_ctime_nsec.cast_unsigned(),
        }
    }
}

/// How a path is followed: nothing here knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolveFlags;

#[expect(missing_docs, reason = "openat2(2) says it")]
impl ResolveFlags {
    pub const BENEATH: Self = Self;
    pub const NO_SYMLINKS: Self = Self;
    pub const NO_MAGICLINKS: Self = Self;
    pub const NO_XDEV: Self = Self;
}

impl std::ops::BitOr for ResolveFlags {
    type Output = Self;
    fn bitor(self, _: Self) -> Self {
        self
    }
}

/// There is no such call: callers go by `openat` and `O_NOFOLLOW`.
pub fn openat2(
    _: impl AsFd,
    _: impl Arg,
    _: OFlags,
    _: Mode,
    _: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// What has a name in a directory.
pub fn statat(parent: impl AsFd, name: impl Arg, flags: AtFlags) -> Result<Stat, Errno> {
    Ok(Stat::of(&rustix::fs::statat(parent, name, flags)?))
}

/// What is open.
pub fn fstat(file: impl AsFd) -> Result<Stat, Errno> {
    Ok(Stat::of(&rustix::fs::fstat(file)?))
}

/// What kind of thing it is.
#[must_use]
pub fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode as rustix::fs::RawMode)
}

/// These permission bits.
#[must_use]
pub fn mode_of(bits: u32) -> Mode {
    Mode::from_raw_mode(bits as rustix::fs::RawMode)
}

/// Makes it durable. fsync(2) alone leaves it in the disk's own memory; F_FULLFSYNC does not, where the
/// file system knows it.
pub fn fsync(file: impl AsFd) -> Result<(), Errno> {
    match rustix::fs::fcntl_fullfsync(&file) {
        Err(Errno::NOTSUP | Errno::INVAL | Errno::NOTTY) => rustix::fs::fsync(file),
        done => done,
    }
}

/// The same of content alone, which this system does not tell apart.
pub fn fdatasync(file: impl AsFd) -> Result<(), Errno> {
    fsync(file)
}

/// Whether it lies in memory, where room is had by clearing it: none does.
pub fn is_in_memory(_: impl AsFd) -> Result<bool, Errno> {
    Ok(false)
}

/// A file grows as it is written: what the system reserves is not added to its length.
pub fn allocate(_: impl AsFd, _: u64) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Holes are for whole blocks here, which callers do not know.
pub fn punch_hole(_: impl AsFd, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Zeros have to be written.
pub fn zero_range(_: impl AsFd, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// The system finds out by itself.
pub fn advise_done(_: impl AsFd) {}

/// There is no such way to open a file.
pub fn go_around_cache(_: &Path) -> Result<OwnedFd, Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Every file has a name.
pub fn open_unnamed(_: &Path) -> Result<OwnedFd, Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Which permissions new files of this process do not get: as a file tells that was just made. Asking
/// with umask(2) would change it for a moment, under the feet of other threads.
#[must_use]
pub fn umask_of_process() -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    let path = std::env::temp_dir().join(format!(".fanfare-umask-{}", std::process::id()));
    let mode = File::create_new(&path).and_then(|file| file.metadata()).map(|meta| meta.mode());
    let _ = std::fs::remove_file(&path);
    mode.map_or(USUAL_UMASK, |mode| 0o666 & !mode)
}
