//! Permissions, owners, attributes and times of what is open.

use fanfare_udp::os::fd::BorrowedFd;

use fanfare_udp::os::{
    fs::{AtFlags, Gid, Stat, Timespec, Timestamps, Uid, mode_of},
    io::Errno,
};

use super::{
    attributes,
    entry::{Carried, Owner, Properties},
};
use fanfare_node::disk::{Mtime, is_beyond};

/// Sets what is carried of an open file or directory. False where the system does not allow all of it.
pub(super) fn set(
    file: BorrowedFd<'_>,
    carried: Carried,
    properties: &Properties,
) -> Result<bool, Errno> {
    let before = fanfare_udp::os::fs::fstat(file)?;
    // The owner first: a change of owner takes away the set-user-ID bits, and capabilities.
    let owned = match properties.owner.filter(|_| carried.owner) {
        Some(owner) => set_owner(&before, owner, &|user, group| {
            fanfare_udp::os::fs::fchown(file, user, group)
        })?,
        None => true,
    };
    let kept = match properties.mode {
        Some(mode) => set_mode(file, mode, carried.mode_mask())?,
        None => true,
    };
    let attributed = attributes::set(file, carried, &properties.attributes)?;
    if let Some(mtime) = properties.mtime {
        set_time(&before, mtime, &|times| fanfare_udp::os::fs::futimens(file, times));
    }
    // Who asked for nothing special has the content, which is what was sent.
    Ok(owned && attributed && (kept || !carried.any()))
}

/// The same of a link in its directory.
pub(super) fn set_link(
    parent: BorrowedFd<'_>,
    name: &[u8],
    carried: Carried,
    properties: &Properties,
) -> Result<bool, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let before = fanfare_udp::os::fs::statat(parent, name, flags)?;
    let owned = match properties.owner.filter(|_| carried.owner) {
        Some(owner) => set_owner(&before, owner, &|user, group| {
            fanfare_udp::os::fs::chownat(parent, name, user, group, flags)
        })?,
        None => true,
    };
    if let Some(mtime) = properties.mtime {
        set_time(&before, mtime, &|times| {
            fanfare_udp::os::fs::utimensat(parent, name, times, flags)
        });
    }
    Ok(owned)
}

type SetOwner<'a> = &'a dyn Fn(Option<Uid>, Option<Gid>) -> Result<(), Errno>;

/// Who may not give a file away may still give it to another of their groups.
fn set_owner(before: &Stat, owner: Owner, set: SetOwner<'_>) -> Result<bool, Errno> {
    if (before.st_uid, before.st_gid) == (owner.user, owner.group) {
        return Ok(true);
    }
    let (user, group) = (Some(Uid::from_raw(owner.user)), Some(Gid::from_raw(owner.group)));
    match set(user, group) {
        Err(Errno::PERM | Errno::INVAL) if before.st_gid == owner.group => Ok(false),
        Err(Errno::PERM | Errno::INVAL) => match set(None, group) {
            Err(Errno::PERM | Errno::INVAL) => Ok(false),
            done => done.map(|()| before.st_uid == owner.user),
        },
        done => done.map(|()| true),
    }
}

/// Of the special bits only those in `mask` change.
/// False: this file system has no such permissions.
fn set_mode(file: BorrowedFd<'_>, mode: u32, mask: u32) -> Result<bool, Errno> {
    // Not as it was before: the owner's change may have taken bits away.
    let has = fanfare_udp::os::fs::fstat(file)?.st_mode & 0o7777;
    let wanted = (mode & mask) | (has & !mask);
    if has == wanted {
        return Ok(true);
    }
    match fanfare_udp::os::fs::fchmod(file, mode_of(wanted)) {
        Ok(()) => Ok(true),
        Err(errno) if is_beyond(errno) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn set_time(before: &Stat, mtime: Mtime, set: &dyn Fn(&Timestamps) -> Result<(), Errno>) {
    let is_new = (before.st_mtime, i64::try_from(before.st_mtime_nsec).unwrap_or(0))
        != (mtime.seconds, i64::from(mtime.nanoseconds));
    if is_new {
        let time = Timespec { tv_sec: mtime.seconds, tv_nsec: mtime.nanoseconds.into() };
        // A time that this file system cannot hold is no reason to lose the rest.
        let _ = set(&Timestamps { last_access: time, last_modification: time });
    }
}
