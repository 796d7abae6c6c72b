//! Files by a directory and a name.

use std::{
    ffi::CString,
    fs::{File, FileTimes, OpenOptions},
    io,
    os::windows::fs::{FileTimesExt as _, OpenOptionsExt as _, symlink_dir, symlink_file},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_ATTRIBUTES,
};

pub use crate::deep_sync::syncfs;

pub use super::{
    call::CWD,
    directory::{Dir, DirEntry},
    flags::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, XattrFlags},
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

/// A time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timespec {
    /// Since 1970.
    pub tv_sec: i64,
    /// Beyond that.
    pub tv_nsec: i64,
}

/// When something was read and changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    /// Read.
    pub last_access: Timespec,
    /// Changed.
    pub last_modification: Timespec,
}

/// A user, by number: nobody has one here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uid(u32);
/// A group, by number: none has one here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gid(u32);

impl Uid {
    /// Of another system.
    #[must_use]
    pub const fn from_raw(number: u32) -> Self {
        Self(number)
    }
}

impl Gid {
    /// Of another system.
    #[must_use]
    pub const fn from_raw(number: u32) -> Self {
        Self(number)
    }
}

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

/// There is no such call: callers go by `openat` and `NOFOLLOW`.
pub fn openat2(
    _: impl AsFd,
    _: impl Arg,
    _: OFlags,
    _: Mode,
    _: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
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
    // Who may only read may not make it durable, so it is opened once more.
    let synced = reopened(handle, WRITE_DATA).and_then(|file| file.sync_all());
    match synced.map_err(failed) {
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

/// Lets its owner write to it or not: all that is told by bits here, and of files alone.
pub fn fchmod(file: impl AsFd, mode: Mode) -> Result<(), Errno> {
    if kind_of(&fstat(file.as_fd())?).is_dir() {
        return Ok(());
    }
    let file = reopened(file.as_fd(), FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES);
    let set = |file: File| {
        let mut permissions = file.metadata()?.permissions();
        permissions.set_readonly(!mode.contains(Mode::WUSR));
        file.set_permissions(permissions)
    };
    file.and_then(set).map_err(failed)
}

/// Owners of other systems are nobody here.
pub fn fchown(_: impl AsFd, _: Option<Uid>, _: Option<Gid>) -> Result<(), Errno> {
    Err(Errno::PERM)
}

/// Owners of other systems are nobody here.
pub fn chownat(
    _: impl AsFd,
    _: impl Arg,
    _: Option<Uid>,
    _: Option<Gid>,
    _: AtFlags,
) -> Result<(), Errno> {
    Err(Errno::PERM)
}

/// A time as `std` has it; `None`: it is beyond what can be told.
fn time_of(time: Timespec) -> Option<SystemTime> {
    let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
    let whole = match time.tv_sec < 0 {
        true => SystemTime::UNIX_EPOCH.checked_sub(seconds),
        false => SystemTime::UNIX_EPOCH.checked_add(seconds),
    };
    whole?.checked_add(Duration::from_nanos(u64::try_from(time.tv_nsec).ok()?))
}

fn set_times(file: &File, times: &Timestamps) -> io::Result<()> {
    let [read, changed] = [times.last_access, times.last_modification].map(time_of);
    let (Some(read), Some(changed)) = (read, changed) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // When it was made stays what it is.
    let kept = file.metadata()?.created()?;
    let times = FileTimes::new().set_accessed(read).set_modified(changed).set_created(kept);
    file.set_times(times)
}

/// Sets when it was read and changed.
pub fn futimens(file: impl AsFd, times: &Timestamps) -> Result<(), Errno> {
    let file = reopened(file.as_fd(), FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES);
    file.and_then(|file| set_times(&file, times)).map_err(failed)
}

/// The same of a name in a directory.
pub fn utimensat(
    parent: impl AsFd,
    name: impl Arg,
    times: &Timestamps,
    flags: AtFlags,
) -> Result<(), Errno> {
    let itself =
        if flags.contains(AtFlags::SYMLINK_NOFOLLOW) { OFlags::NOFOLLOW } else { OFlags::PATH };
    futimens(openat(parent, name, OFlags::PATH | itself, Mode::empty())?, times)
}

/// Locks a file against other openings, as long as it is open. Directories cannot be locked here.
pub fn flock(file: impl AsFd, how: FlockOperation) -> Result<(), Errno> {
    if kind_of(&fstat(file.as_fd())?).is_dir() {
        return Err(Errno::OPNOTSUPP);
    }
    call::lock(file, how == FlockOperation::LockExclusive).map_err(failed)
}

/// There are no attributes of this kind.
pub fn fgetxattr(_: impl AsFd, _: impl Arg, _: &mut [u8]) -> Result<usize, Errno> {
    Err(Errno::OPNOTSUPP)
}

/// There are no attributes of this kind.
pub fn flistxattr(_: impl AsFd, _: &mut [u8]) -> Result<usize, Errno> {
    Err(Errno::OPNOTSUPP)
}

/// There are no attributes of this kind.
pub fn fremovexattr(_: impl AsFd, _: impl Arg) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// There are no attributes of this kind.
pub fn fsetxattr(_: impl AsFd, _: impl Arg, _: &[u8], _: XattrFlags) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Opening never waits here, so there is nothing to take back.
pub fn fcntl_setfl(_: impl AsFd, _: OFlags) -> Result<(), Errno> {
    Ok(())
}

/// These permission bits.
#[must_use]
pub fn mode_of(bits: u32) -> Mode {
    Mode::from_raw_mode(bits)
}

/// Whether it lies in memory, where room is had by clearing it: none does.
pub fn is_in_memory(_: impl AsFd) -> Result<bool, Errno> {
    Ok(false)
}

/// A file grows as it is written: room alone is not had without its length.
pub fn allocate(_: impl AsFd, _: u64) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Only files that were made for it have holes.
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

/// New files are as their folder says.
#[must_use]
pub fn umask_of_process() -> u32 {
    0o022
}
