//! Linux as it is, and macOS with what it lacks.

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod macos;

/// Open files and directories.
pub mod fd {
    pub use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
}

/// Errors of calls.
pub mod io {
    pub use rustix::io::{Errno, pread, pwrite};
}

/// Files by a directory and a name.
pub mod fs {
    pub use rustix::fs::*;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync_directory(path: &std::path::Path) -> std::io::Result<()> {
        std::fs::File::open(path)?.sync_all()
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub use super::macos::{
        PATH, PATH_MAX, PATH_OF_LINK, fdatasync, fstat, fsync, kind_of, mode_of, statat,
        umask_of_process,
    };
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub use crate::os::{
        deep_sync::syncfs,
        linux_only::{
            ResolveFlags, advise_done, allocate, go_around_cache, is_in_memory, next_data,
            open_unnamed, openat2, punch_hole, zero_range,
        },
        stat::Stat,
    };
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub use linux::*;

    #[cfg(any(target_os = "linux", target_os = "android"))]
    mod linux {
        use std::path::Path;

        use rustix::{
            fd::{AsFd, OwnedFd},
            fs::{Advice, CWD, FallocateFlags, FileType, Mode, OFlags, Stat},
            io::Errno,
        };

        /// linux/magic.h: a file system in memory.
        const TMPFS_MAGIC: u64 = 0x0102_1994;
        /// Longest path that is given to the system in one call: linux/limits.h, `PATH_MAX`, is 4096.
        pub const PATH_MAX: usize = 4000;
        /// Opens something only to name it.
        pub const PATH: OFlags = OFlags::PATH;
        /// The same of a link itself.
        pub const PATH_OF_LINK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW);

        /// What kind of thing it is.
        #[must_use]
        pub fn kind_of(stat: &Stat) -> FileType {
            FileType::from_raw_mode(stat.st_mode)
        }

        /// These permission bits.
        #[must_use]
        pub fn mode_of(bits: u32) -> Mode {
            Mode::from_raw_mode(bits)
        }

        /// Whether it lies in memory, where room is had by clearing it.
        pub fn is_in_memory(file: impl AsFd) -> Result<bool, Errno> {
            Ok(rustix::fs::fstatfs(file)?.f_type as u64 == TMPFS_MAGIC)
        }

        /// Gives it at least that length and the room for it.
        pub fn allocate(file: impl AsFd, len: u64) -> Result<(), Errno> {
            rustix::fs::fallocate(file, FallocateFlags::empty(), 0, len)
        }

        /// Makes a hole where there is nothing but zeros.
        pub fn punch_hole(file: impl AsFd, offset: u64, len: u64) -> Result<(), Errno> {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(file, flags, offset, len)
        }

        /// Where data begins at `offset` or behind it; `None`: there is only a hole up to the end. The file's
        /// own position moves there.
        pub fn next_data(file: impl AsFd, offset: u64) -> Result<Option<u64>, Errno> {
            match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
                Ok(data) => Ok(Some(data)),
                Err(Errno::NXIO) => Ok(None),
                Err(errno) => Err(errno),
            }
        }

        /// Makes zeros of what is there, without writing them.
        pub fn zero_range(file: impl AsFd, offset: u64, len: u64) -> Result<(), Errno> {
            let flags = FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(file, flags, offset, len)
        }

        /// Nobody reads soon what has been written.
        pub fn advise_done(file: impl AsFd) {
            let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
        }

        /// Opens for reading what the device holds, not what is in memory.
        pub fn go_around_cache(path: &Path) -> Result<OwnedFd, Errno> {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECT;
            rustix::fs::openat(CWD, path, flags, Mode::empty())
        }

        /// A file in a directory that has no name. An error: this file system cannot.
        pub fn open_unnamed(directory: &Path) -> Result<OwnedFd, Errno> {
            let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::TMPFILE;
            rustix::fs::openat(CWD, directory, flags, Mode::RUSR | Mode::WUSR)
        }

        /// Which permissions new files of this process do not get. Read from the system's account of
        /// this process: asking with umask(2) would change it for a moment, under the feet of other
        /// threads.
        #[must_use]
        pub fn umask_of_process() -> u32 {
            let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
            line.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok()).unwrap_or(0o022)
        }
    }
}

/// What `std` tells of a file on this system.
pub mod file {
    pub use std::os::unix::fs::{
        DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt,
    };

    /// Opens as a file that has nothing and keeps nothing (null(4)).
    pub const NOTHING: &str = "/dev/null";
    /// Files have an owner and a group, by number.
    pub const HAS_OWNERS: bool = true;

    /// Sets who may use a file.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_mode(file: &std::fs::File, mode: u32) -> std::io::Result<()> {
        file.set_permissions(std::fs::Permissions::from_mode(mode))
    }

    /// The same of what is at a path.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_mode_at(path: &std::path::Path, mode: u32) -> std::io::Result<()> {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
    }
}

/// Names as bytes.
pub mod text {
    pub use rustix::path::Arg;
    pub use std::os::unix::ffi::{OsStrExt, OsStringExt};

    /// What this system takes as the name of a file beyond what all do: everything.
    #[must_use]
    pub fn can_be_a_name(_: &[u8]) -> bool {
        true
    }
}
