//! Links get their names, in one step each, and whatever else has such a name is never followed.

use fanfare_os::fd::BorrowedFd;

use fanfare_disk::{
    DirectoryHandle, descriptor, directory::Directory, in_writable, name::bytes_of,
    placement::Conflict,
};
use fanfare_os::{
    fs::{AtFlags, RenameFlags, kind_of},
    io::Errno,
};

use crate::{listing::DirectoryClearing, receipt::Reason};

/// Tries to find a free `name.1`, `name.2`, … before giving up.
const SUFFIX_MAX: u32 = 9999;

/// What a name becomes another name of, or points to.
pub(super) enum New<'a> {
    Link(&'a [u8]),
    HardLink(BorrowedFd<'a>, &'a str),
}

impl New<'_> {
    fn make(&self, parent: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        match self {
            Self::Link(target) => fanfare_os::fs::symlinkat(*target, parent, name),
            Self::HardLink(directory, file) => {
                let flags = AtFlags::empty();
                fanfare_os::fs::linkat(directory, &*bytes_of(file), parent, name, flags)
            }
        }
    }

    /// Whether it has this name already.
    fn is(&self, parent: BorrowedFd<'_>, name: &[u8]) -> bool {
        match self {
            Self::Link(target) => fanfare_os::fs::readlinkat(parent, name, Vec::new())
                .is_ok_and(|here| here.as_bytes() == *target),
            Self::HardLink(directory, file) => {
                let of =
                    fanfare_os::fs::statat(directory, &*bytes_of(file), AtFlags::SYMLINK_NOFOLLOW);
                let here = fanfare_os::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
                matches!((of, here), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
            }
        }
    }
}

/// Place of a link.
pub(super) struct LinkPlace<'a> {
    /// The receiver's directory.
    pub(super) top: &'a Directory,
    pub(super) parent: &'a dyn DirectoryHandle,
    /// All of its name, for people.
    pub(super) path: &'a str,
}

/// Gives it the name `name` there, as far as `conflict` lets it. The name that it has got.
pub(super) fn place(
    room: &LinkPlace<'_>,
    name: &str,
    new: &New<'_>,
    conflict: Conflict,
    mut clearing: Option<&mut DirectoryClearing<'_>>,
) -> Result<String, Reason> {
    let LinkPlace { top, parent, path } = *room;
    let fd = descriptor(parent).map_err(disk)?;
    for number in 0..=SUFFIX_MAX {
        let candidate = if number == 0 { name.to_owned() } else { format!("{name}.{number}") };
        let bytes = bytes_of(&candidate);
        if new.is(fd, &bytes) {
            return Ok(candidate);
        }
        match in_writable(parent, || new.make(fd, &bytes)) {
            Err(Errno::EXIST) => {}
            done => return done.map(|()| candidate).map_err(disk),
        }
        match conflict {
            Conflict::KeepBoth => {}
            Conflict::Keep => return Err(Reason::Conflict),
            Conflict::Overwrite => {
                match in_writable(parent, || replace(top, fd, &bytes, new)) {
                    Err(Errno::EXIST) => {
                        let clearing = clearing.as_mut().ok_or(Reason::InTheWay)?;
                        let aside = TemporaryLink::make(top, new).map_err(disk)?;
                        clearing.clear(fd, &bytes, path)?;
                        in_writable(parent, || aside.rename(fd, &bytes)).map_err(disk)?;
                    }
                    replaced => replaced.map_err(disk)?,
                }
                return Ok(candidate);
            }
        }
    }
    Err(Reason::DiskError)
}

/// Takes the place of a file or link. A directory stays.
fn replace(
    top: &Directory,
    parent: BorrowedFd<'_>,
    name: &[u8],
    new: &New<'_>,
) -> Result<(), Errno> {
    let here = fanfare_os::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if kind_of(&here).is_dir() {
        return Err(Errno::EXIST);
    }
    TemporaryLink::make(top, new)?.rename(parent, name)
}

/// A link under a name of our own, which goes unless it gets its own.
struct TemporaryLink<'a> {
    own: BorrowedFd<'a>,
    name: String,
}

impl<'a> TemporaryLink<'a> {
    fn make(top: &'a Directory, new: &New<'_>) -> Result<Self, Errno> {
        let (own, name) = (descriptor(top.handle())?, top.own_name("link", ".new"));
        let _ = fanfare_os::fs::unlinkat(own, name.as_str(), AtFlags::empty());
        new.make(own, name.as_bytes())?;
        Ok(Self { own, name })
    }

    fn rename(&self, parent: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        let flags = RenameFlags::empty();
        fanfare_os::fs::renameat_with(self.own, self.name.as_str(), parent, name, flags)
    }
}

impl Drop for TemporaryLink<'_> {
    fn drop(&mut self) {
        let _ = fanfare_os::fs::unlinkat(self.own, self.name.as_str(), AtFlags::empty());
    }
}

/// What a failed call is to the sender.
pub(super) fn disk(errno: Errno) -> Reason {
    let error = errno.into();
    if matches!(errno, Errno::ISDIR | Errno::NOTEMPTY) || crate::placed::is_in_the_way(&error) {
        Reason::InTheWay
    } else {
        Reason::of_disk(&error)
    }
}
