//! Files by a directory and a name.

use std::{
    ffi::CString,
    fs::{File, OpenOptions},
    io,
    os::windows::fs::{OpenOptionsExt as _, symlink_dir, symlink_file},
    path::{Path, PathBuf},
};

use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE,
};

pub use crate::os::{
    deep_sync::syncfs,
    linux_only::{
        ResolveFlags, advise_done, allocate, go_around_cache, is_in_memory, next_data,
        open_unnamed, openat2, punch_hole, zero_range,
    },
};

pub use super::{
    call::CWD,
    directory::{Dir, DirEntry},
    flags::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags, XattrFlags},
    properties::{
        Gid, Timespec, Timestamps, Uid, chownat, fchmod, fchown, fgetxattr, flistxattr,
        fremovexattr, fsetxattr, futimens, mode_of, umask_of_process, utimensat,
    },
    stat::{FileType, Stat, fstat, kind_of},
    text::Arg,
};
use super::{
    call::{self, is_cwd, path_of},
    errno::Errno,
    fd::{AsFd, BorrowedFd, OwnedFd},
    text::OsStrExt as _,
};

/// Longest path that is given to the system in one call. What is longer is for verbatim paths, which
/// those that users write are not.
pub const PATH_MAX: usize = 32 << 10;
/// Opens something only to name it.
pub const PATH: OFlags = OFlags::PATH;
/// The same of a link itself.
pub const PATH_OF_LINK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW);

/// What cannot stand in a name within a directory: it would lead elsewhere.
const NOT_IN_A_NAME: [u8; 4] = *b"\\/:\0";

/// How large a volume is.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "statvfs(3) says it")]
pub struct StatVfs {
    pub f_frsize: u64,
    pub f_blocks: u64,
    pub f_bavail: u64,
}

pub(super) fn failed(error: io::Error) -> Errno {
    Errno::of(&error)
}

/// Where a name in a directory is. In the folder of this process it may be a path.
fn within(parent: impl AsFd, name: impl Arg) -> Result<PathBuf, Errno> {
    let parent = parent.as_fd();
    let name = name.as_path().ok_or(Errno::NOENT)?;
    if is_cwd(parent) {
        return Ok(name);
    }
    let bytes = name.as_os_str().as_bytes();
    let leads_away = bytes.iter().any(|byte| NOT_IN_A_NAME.contains(byte));
    if leads_away || matches!(bytes, b"" | b"." | b"..") {
        return Err(Errno::INVAL);
    }
    Ok(path_of(parent).map_err(failed)?.join(name))
}

/// Opens a name in a directory.
pub fn openat(parent: impl AsFd, name: impl Arg, flags: OFlags, _: Mode) -> Result<OwnedFd, Errno> {
    let path = within(parent, name)?;
    let is = |flag| flags.contains(flag);
    let mut options = OpenOptions::new();
    let (reads, writes) = match (is(OFlags::RDWR), is(OFlags::WRONLY)) {
        (true, _) => (true, true),
        (_, writes) => (!writes, writes),
    };
    options.read(reads).write(writes && !is(OFlags::APPEND)).append(is(OFlags::APPEND));
    options.create(is(OFlags::CREATE)).create_new(is(OFlags::CREATE | OFlags::EXCL));
    if is(OFlags::PATH) {
        options.access_mode(FILE_READ_ATTRIBUTES);
    }
    if is(OFlags::DIRECTORY) {
        // Nobody renames or removes it meanwhile: calls go by its path.
        options.share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE);
    }
    let itself = if is(OFlags::NOFOLLOW) { FILE_FLAG_OPEN_REPARSE_POINT } else { 0 };
    options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS | itself);
    let file = options.open(&path).map_err(failed)?;
    let kind = FileType::of(file.metadata().map_err(failed)?.file_type());
    match kind {
        FileType::Symlink if !is(OFlags::PATH) => Err(Errno::LOOP),
        kind if is(OFlags::DIRECTORY) && !kind.is_dir() => Err(Errno::NOTDIR),
        FileType::Directory if writes => Err(Errno::ISDIR),
        _ => Ok(file.into()),
    }
}

/// Does something with what is open. Where it was opened for less, it is opened once more: by its path,
/// which Wine tells wrongly once another opening has renamed it.
pub(super) fn with_access<T>(
    file: BorrowedFd<'_>,
    access: u32,
    call: impl Fn(&File) -> io::Result<T>,
) -> Result<T, Errno> {
    match of_handle(file, &call) {
        Err(Errno::ACCESS) => reopened(file, access).and_then(|file| call(&file)).map_err(failed),
        done => done,
    }
}

/// Opens what is open once more, for something else.
fn reopened(file: BorrowedFd<'_>, access: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE);
    options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
    options.access_mode(access).open(path_of(file)?)
}

/// Makes a directory.
pub fn mkdirat(parent: impl AsFd, name: impl Arg, _: Mode) -> Result<(), Errno> {
    std::fs::create_dir(within(parent, name)?).map_err(failed)
}

/// Lets what may only be read be removed or replaced, as on other systems.
fn unlocked(path: &Path, change: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let refused = match change() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
        done => return done,
    };
    let Ok(meta) = path.symlink_metadata() else { return Err(refused) };
    let mut permissions = meta.permissions();
    if !meta.is_file() || !permissions.readonly() {
        return Err(refused);
    }
    #[expect(clippy::permissions_set_readonly_false, reason = "it is one bit on this system")]
    permissions.set_readonly(false);
    std::fs::set_permissions(path, permissions)?;
    change()
}

/// Takes a name from a file, or removes a directory.
pub fn unlinkat(parent: impl AsFd, name: impl Arg, flags: AtFlags) -> Result<(), Errno> {
    let path = within(parent, name)?;
    if flags.contains(AtFlags::REMOVEDIR) {
        return std::fs::remove_dir(&path).map_err(failed);
    }
    let kind = path.symlink_metadata().map_err(failed)?.file_type();
    if kind.is_dir() {
        return Err(Errno::ISDIR);
    }
    // A link to a directory is one itself here.
    let is_link = kind.is_symlink() && std::os::windows::fs::FileTypeExt::is_symlink_dir(&kind);
    let remove = || if is_link { std::fs::remove_dir(&path) } else { std::fs::remove_file(&path) };
    unlocked(&path, remove).map_err(failed)
}

/// Gives something another name, in place of a file that has it.
pub fn renameat(
    from: impl AsFd,
    name: impl Arg,
    to: impl AsFd,
    new: impl Arg,
) -> Result<(), Errno> {
    let (from, to) = (within(from, name)?, within(to, new)?);
    let is_directory = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    if is_directory(&to) && !is_directory(&from) {
        return Err(Errno::ISDIR);
    }
    unlocked(&to, || std::fs::rename(&from, &to)).map_err(failed)
}

/// The same, where nothing has it if that is asked.
pub fn renameat_with(
    from: impl AsFd,
    name: impl Arg,
    to: impl AsFd,
    new: impl Arg,
    flags: RenameFlags,
) -> Result<(), Errno> {
    if !flags.contains(RenameFlags::NOREPLACE) {
        return renameat(from, name, to, new);
    }
    call::rename_new(&within(from, name)?, &within(to, new)?).map_err(failed)
}

/// Gives a file one more name.
pub fn linkat(
    from: impl AsFd,
    name: impl Arg,
    to: impl AsFd,
    new: impl Arg,
    _: AtFlags,
) -> Result<(), Errno> {
    std::fs::hard_link(within(from, name)?, within(to, new)?).map_err(failed)
}

/// Makes a link. This system knows two kinds: what it points to decides, where that is there.
pub fn symlinkat(target: impl Arg, parent: impl AsFd, name: impl Arg) -> Result<(), Errno> {
    let path = within(parent, name)?;
    let target = target.as_path().ok_or(Errno::INVAL)?;
    let text = target.to_str().ok_or(Errno::INVAL)?.replace('/', "\\");
    let there = path.parent().map(|above| above.join(&text));
    let is_directory =
        there.is_some_and(|there| std::fs::metadata(there).is_ok_and(|m| m.is_dir()));
    let made = if is_directory { symlink_dir(text, &path) } else { symlink_file(text, &path) };
    made.map_err(failed)
}

/// What a link points to, with the slashes of other systems.
pub fn readlinkat(parent: impl AsFd, name: impl Arg, _: Vec<u8>) -> Result<CString, Errno> {
    let target = std::fs::read_link(within(parent, name)?).map_err(failed)?;
    let mut bytes = target.as_os_str().as_bytes().to_vec();
    bytes.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
    CString::new(bytes).map_err(|_| Errno::INVAL)
}

/// What has a name in a directory.
pub fn statat(parent: impl AsFd, name: impl Arg, flags: AtFlags) -> Result<Stat, Errno> {
    let itself =
        if flags.contains(AtFlags::SYMLINK_NOFOLLOW) { OFlags::NOFOLLOW } else { OFlags::PATH };
    fstat(openat(parent, name, OFlags::PATH | itself, Mode::empty())?)
}

/// How large the volume of a directory or file is.
pub fn fstatvfs(file: impl AsFd) -> Result<StatVfs, Errno> {
    statvfs(path_of(file.as_fd()).map_err(failed)?)
}

/// The same by its path.
pub fn statvfs(path: impl Arg) -> Result<StatVfs, Errno> {
    let path = path.as_path().ok_or(Errno::NOENT)?;
    let above = if path.is_dir() { &path } else { path.parent().unwrap_or(&path) };
    let (f_bavail, f_blocks) = call::room(above).map_err(failed)?;
    Ok(StatVfs { f_frsize: 1, f_blocks, f_bavail })
}

/// Makes it durable. A directory whose names the system does not write on request is left to its
/// journal, which is seconds behind.
pub fn fsync(file: impl AsFd) -> Result<(), Errno> {
    const WRITE_DATA: u32 = 2;
    let handle = file.as_fd();
    let is_directory = kind_of(&fstat(handle)?).is_dir();
    match with_access(handle, WRITE_DATA, File::sync_all) {
        Err(Errno::ACCESS | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::BUSY)
            if is_directory =>
        {
            Ok(())
        }
        done => done,
    }
}

/// Makes the names in a directory durable, as far as [`fsync`] does.
///
/// # Errors
/// What the system says.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    Ok(fsync(&directory)?)
}

/// The same of content alone, which this system does not tell apart.
pub fn fdatasync(file: impl AsFd) -> Result<(), Errno> {
    fsync(file)
}

fn of_handle<T>(file: impl AsFd, call: impl FnOnce(&File) -> io::Result<T>) -> Result<T, Errno> {
    let file = File::from(file.as_fd().try_clone_to_owned().map_err(failed)?);
    call(&file).map_err(failed)
}

/// Cuts it, or lengthens it.
pub fn ftruncate(file: impl AsFd, len: u64) -> Result<(), Errno> {
    of_handle(file, |file| file.set_len(len))
}

/// Locks a file against other openings, as long as it is open. Directories cannot be locked here.
pub fn flock(file: impl AsFd, how: FlockOperation) -> Result<(), Errno> {
    if kind_of(&fstat(file.as_fd())?).is_dir() {
        return Err(Errno::OPNOTSUPP);
    }
    call::lock(file, how == FlockOperation::LockExclusive).map_err(failed)
}

/// Opening never waits here, so there is nothing to take back.
pub fn fcntl_setfl(_: impl AsFd, _: OFlags) -> Result<(), Errno> {
    Ok(())
}
