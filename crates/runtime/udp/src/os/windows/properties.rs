//! What a file has beside its content: permissions, owners, times, attributes.

use std::{
    fs::{File, FileTimes},
    io,
    os::windows::fs::FileTimesExt as _,
    time::{Duration, SystemTime},
};

use windows_sys::Win32::Storage::FileSystem::{FILE_READ_ATTRIBUTES, FILE_WRITE_ATTRIBUTES};

use super::{
    errno::Errno,
    fd::AsFd,
    flags::{AtFlags, Mode, OFlags, XattrFlags},
    fs::{openat, with_access},
    stat::{fstat, kind_of},
    text::Arg,
};

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

/// Lets its owner write to it or not: all that is told by bits here, and of files alone.
pub fn fchmod(file: impl AsFd, mode: Mode) -> Result<(), Errno> {
    if kind_of(&fstat(file.as_fd())?).is_dir() {
        return Ok(());
    }
    with_access(file.as_fd(), FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES, |file| {
        let mut permissions = file.metadata()?.permissions();
        permissions.set_readonly(!mode.contains(Mode::WUSR));
        file.set_permissions(permissions)
    })
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
    let access = FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES;
    with_access(file.as_fd(), access, |file| set_times(file, times))
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

/// These permission bits.
#[must_use]
pub fn mode_of(bits: u32) -> Mode {
    Mode::from_raw_mode(bits)
}

/// New files are as their folder says.
#[must_use]
pub fn umask_of_process() -> u32 {
    0o022
}
