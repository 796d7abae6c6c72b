//! The real file system, by descriptors: neither a name from the network nor a link planted
//! meanwhile leads out of a directory.

use fanfare_udp::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::{fmt::Debug, fs::File, sync::Arc};

use fanfare_udp::os::{
    fs::{
        AtFlags, Dir, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, Stat, Timespec,
        Timestamps, is_in_memory, kind_of, mode_of,
    },
    io::Errno,
};

use super::{
    DirectoryHandle, DirectoryId, FileHandle, Metadata, Mtime, Open, is_beyond,
    name::{bytes_of, text_of},
};

/// Bytes of a block of `st_blocks`, whatever the file system's own are (stat(2)).
const STAT_BLOCK: u64 = 512;

/// The descriptor of another directory of the same file system.
/// The system's descriptor. XDEV: it is not on a real file system.
pub fn descriptor(directory: &dyn DirectoryHandle) -> Result<BorrowedFd<'_>, Errno> {
    match directory.id() {
        DirectoryId::Descriptor(fd) => Ok(fd),
        #[cfg(any(test, feature = "simulated"))]
        DirectoryId::Number(_) => Err(Errno::XDEV),
    }
}

impl<D: AsFd + Debug + Send + Sync> DirectoryHandle for D {
    fn id(&self) -> DirectoryId<'_> {
        DirectoryId::Descriptor(self.as_fd())
    }

    fn open(&self, name: &str, how: Open) -> Result<Arc<dyn FileHandle>, Errno> {
        Ok(Arc::new(open_file(self.as_fd(), name, how)?))
    }

    fn enter(&self, name: &str) -> Result<Box<dyn DirectoryHandle>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        Ok(Box::new(open_beneath(self.as_fd(), name, flags, Mode::empty())?))
    }

    fn make_directory(&self, name: &str) -> Result<(), Errno> {
        fanfare_udp::os::fs::mkdirat(self, &*bytes_of(name), Mode::RWXU | Mode::RWXG | Mode::RWXO)
    }

    fn make_own_directory(&self, name: &str) -> Result<(), Errno> {
        fanfare_udp::os::fs::mkdirat(self, &*bytes_of(name), Mode::RWXU)
    }

    fn make_writable(&self) -> Result<(), Errno> {
        let mode = fanfare_udp::os::fs::fstat(self)?.st_mode;
        if mode & 0o300 == 0o300 {
            return Err(Errno::ACCESS);
        }
        fanfare_udp::os::fs::fchmod(self, mode_of(mode & 0o7777 | 0o300))
    }

    fn remove_directory(&self, name: &str) -> Result<(), Errno> {
        fanfare_udp::os::fs::unlinkat(self, &*bytes_of(name), AtFlags::REMOVEDIR)
    }

    fn lock(&self) -> Result<(), Errno> {
        fanfare_udp::os::fs::flock(self, FlockOperation::NonBlockingLockExclusive)
    }

    fn rename(&self, from: &str, to: &dyn DirectoryHandle, name: &str) -> Result<(), Errno> {
        fanfare_udp::os::fs::renameat(self, &*bytes_of(from), descriptor(to)?, &*bytes_of(name))
    }

    fn rename_new(&self, from: &str, to: &dyn DirectoryHandle, name: &str) -> Result<(), Errno> {
        let (from, name) = (bytes_of(from), bytes_of(name));
        fanfare_udp::os::fs::renameat_with(
            self,
            &*from,
            descriptor(to)?,
            &*name,
            RenameFlags::NOREPLACE,
        )
    }

    fn link(&self, from: &str, to: &dyn DirectoryHandle, name: &str) -> Result<(), Errno> {
        let (from, name) = (bytes_of(from), bytes_of(name));
        fanfare_udp::os::fs::linkat(self, &*from, descriptor(to)?, &*name, AtFlags::empty())
    }

    fn unlink(&self, name: &str) -> Result<(), Errno> {
        fanfare_udp::os::fs::unlinkat(self, &*bytes_of(name), AtFlags::empty())
    }

    fn list(&self) -> Result<Vec<String>, Errno> {
        let entries = Dir::read_from(self)?.filter_map(Result::ok);
        Ok(entries.map(|entry| text_of(entry.file_name().to_bytes())).collect())
    }

    fn metadata_of(&self, name: &str) -> Result<Metadata, Errno> {
        let stat = fanfare_udp::os::fs::statat(self, &*bytes_of(name), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(metadata(&stat))
    }

    fn free(&self) -> u64 {
        fanfare_udp::os::fs::fstatvfs(self).map_or(0, |fs| fs.f_bavail.saturating_mul(fs.f_frsize))
    }

    fn capacity(&self) -> u64 {
        fanfare_udp::os::fs::fstatvfs(self).map_or(0, |fs| fs.f_blocks.saturating_mul(fs.f_frsize))
    }

    fn sync(&self) -> Result<(), Errno> {
        fanfare_udp::os::fs::fsync(self)
    }

    fn sync_all(&self) -> Result<(), Errno> {
        fanfare_udp::os::fs::syncfs(self)
    }
}

impl FileHandle for File {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize, Errno> {
        fanfare_udp::os::io::pread(self, into, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        fanfare_udp::os::io::pwrite(self, bytes, offset)
    }

    fn set_len(&self, len: u64) -> Result<(), Errno> {
        fanfare_udp::os::fs::ftruncate(self, len)
    }

    fn reserve(&self, len: u64) -> Result<(), Errno> {
        // Room is had by clearing it there, which takes as long as writing: a gigabyte would keep a
        // receiver from its sockets for half a second.
        if is_in_memory(self)? {
            return Err(Errno::OPNOTSUPP);
        }
        fanfare_udp::os::fs::allocate(self, len)
    }

    fn punch(&self, offset: u64, len: u64) -> Result<(), Errno> {
        fanfare_udp::os::fs::punch_hole(self, offset, len)
    }

    fn hole_at(&self, offset: u64) -> u64 {
        let end = match fanfare_udp::os::fs::next_data(self, offset) {
            Ok(Some(data)) => data,
            // Behind the end there is none either.
            Ok(None) => FileHandle::metadata(self).map_or(0, |metadata| metadata.len),
            Err(_) => 0,
        };
        end.saturating_sub(offset)
    }

    fn sync(&self) -> Result<(), Errno> {
        fanfare_udp::os::fs::fsync(self)
    }

    fn sync_data(&self) -> Result<(), Errno> {
        fanfare_udp::os::fs::fdatasync(self)
    }

    fn metadata(&self) -> Result<Metadata, Errno> {
        Ok(metadata(&fanfare_udp::os::fs::fstat(self)?))
    }

    fn lock(&self) -> Result<(), Errno> {
        fanfare_udp::os::fs::flock(self, FlockOperation::NonBlockingLockExclusive)
    }

    fn set_properties(&self, mode: Mode, mtime: Option<Mtime>) -> Result<bool, Errno> {
        let kept = match fanfare_udp::os::fs::fchmod(self, mode) {
            // Some take it and do nothing.
            Ok(()) => metadata(&fanfare_udp::os::fs::fstat(self)?)
                .mode
                .is_none_or(|has| mode_of(has & 0o777) == mode & mode_of(0o777)),
            // The content is worth more than who may read it.
            Err(errno) if is_beyond(errno) => false,
            Err(errno) => return Err(errno),
        };
        mtime.into_iter().for_each(|mtime| self.set_mtime(mtime));
        Ok(kept)
    }

    fn set_mtime(&self, mtime: Mtime) {
        let time = Timespec { tv_sec: mtime.seconds, tv_nsec: mtime.nanoseconds.into() };
        let times = Timestamps { last_access: time, last_modification: time };
        // A time that this file system cannot hold is no reason to lose the file.
        let _ = fanfare_udp::os::fs::futimens(self, &times);
    }
}

fn metadata(stat: &Stat) -> Metadata {
    let is_file = kind_of(stat).is_file();
    let len = u64::try_from(stat.st_size).unwrap_or(0);
    let (is_linked_twice, number) = (stat.st_nlink > 1, stat.st_ino);
    // Their widths differ between machines.
    let nanoseconds = |ns| i64::try_from(ns).unwrap_or(0);
    let (mtime_ns, ctime_ns) = (nanoseconds(stat.st_mtime_nsec), nanoseconds(stat.st_ctime_nsec));
    let times = [stat.st_mtime, mtime_ns, stat.st_ctime, ctime_ns];
    let mode = Some(stat.st_mode & 0o7777);
    let taken = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(STAT_BLOCK);
    Metadata { is_file, len, taken, mode, is_linked_twice, number, times }
}

fn open_file(directory: BorrowedFd<'_>, name: &str, how: Open) -> Result<File, Errno> {
    let (flags, mode) = match how {
        Open::Create => (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, Mode::RUSR | Mode::WUSR),
        Open::CreateAs(mode) => (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode),
        Open::Append => (OFlags::RDWR | OFlags::CREATE | OFlags::APPEND, Mode::RUSR | Mode::WUSR),
        Open::Write => (OFlags::RDWR, Mode::empty()),
        // Opening a pipe would wait for its other end.
        Open::Read => (OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()),
    };
    Ok(File::from(open_beneath(directory, name, flags, mode)?))
}

/// Opens one name in a directory without following links.
fn open_beneath(
    directory: BorrowedFd<'_>,
    name: &str,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let name = &*bytes_of(name);
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match fanfare_udp::os::fs::openat2(directory, name, flags, mode, resolve) {
        // Kernels before 5.6 and some sandboxes lack it. The name is one part without a slash, so
        // that O_NOFOLLOW alone says the same.
        Err(Errno::NOSYS | Errno::PERM) => {
            fanfare_udp::os::fs::openat(directory, name, flags, mode)
        }
        other => other,
    }
}
