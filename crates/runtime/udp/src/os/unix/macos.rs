//! macOS: what it calls otherwise, and what it cannot.

use std::fs::File;

use rustix::{
    fd::AsFd,
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
    path::Arg,
};

use crate::os::stat::Stat;

/// Longest path that is given to the system in one call: sys/syslimits.h, `PATH_MAX`, is 1024.
pub const PATH_MAX: usize = 1000;
/// Opens something only to name it.
pub const PATH: OFlags = OFlags::RDONLY;
/// The same of a link itself: fcntl.h, `O_SYMLINK`.
pub const PATH_OF_LINK: OFlags = OFlags::from_bits_retain(0x20_0000);
/// What new files do not get, where nobody has changed it.
const USUAL_UMASK: u32 = 0o022;

fn of(stat: &rustix::fs::Stat) -> Stat {
    Stat {
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

/// What has a name in a directory.
pub fn statat(parent: impl AsFd, name: impl Arg, flags: AtFlags) -> Result<Stat, Errno> {
    Ok(of(&rustix::fs::statat(parent, name, flags)?))
}

/// What is open.
pub fn fstat(file: impl AsFd) -> Result<Stat, Errno> {
    Ok(of(&rustix::fs::fstat(file)?))
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
